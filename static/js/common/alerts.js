// Reports failed htmx requests in the page's alert region, which a screen reader reads out.

// A page that answered a form is opened again by its address, so the form is never sent twice.
if (document.body.dataset.posted !== undefined) history.replaceState(history.state, "", location.href);

const region = () => document.getElementById("alerts");

function say(id) {
  const sentence = document.getElementById(id);
  if (sentence && region()) region().replaceChildren(sentence.content.cloneNode(true));
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.status < 400) return;
  event.detail.isError = false;
  event.detail.shouldSwap = xhr.getResponseHeader("HX-Retarget") !== null;
  if (event.detail.shouldSwap) region()?.scrollIntoView({ block: "center" });
  else say("alert-failed");
});

document.addEventListener("htmx:beforeRequest", () => region()?.replaceChildren());
document.addEventListener("htmx:sendError", () => say("alert-unreachable"));
document.addEventListener("htmx:timeout", () => say("alert-unreachable"));
