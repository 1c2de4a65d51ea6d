// A search or an erasure that takes long: while the browser waits for the answer, a bar and the seconds that have gone by.

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

document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) wait(event.target, event.submitter?.value);
});

// Only looking can be stopped: nothing has changed.
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-stop]")) return;
  stop();
  still();
});

addEventListener("pageshow", still);
