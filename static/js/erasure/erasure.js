// Shows a progress bar and the elapsed seconds while the browser waits for a long search or erasure.

const waits = () => document.querySelectorAll("[data-waits]");

let ticking = 0;

function wait(form, step) {
  const shown = form.querySelector(`[data-waits="${step === "erase" ? "erase" : "look"}"]`);
  if (!shown) return;
  const begun = Date.now();
  const tell = () => {
    shown.querySelector("[data-seconds]").textContent = String(Math.floor((Date.now() - begun) / 1000));
  };
  tell();
  shown.hidden = false;
  ticking = setInterval(tell, 1000);
}

function still() {
  clearInterval(ticking);
  for (const shown of waits()) shown.hidden = true;
}

// A button that opens a new tab leaves nothing to wait for in this one.
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented && event.submitter?.formTarget !== "_blank") wait(event.target, event.submitter?.value);
});

// Only a search can be stopped, because it changes nothing.
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-stop]")) return;
  stop();
  still();
});

addEventListener("pageshow", still);
