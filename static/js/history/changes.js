// Comparisons: counts the changes that the person has viewed, and lets two handles choose the versions to compare.

const WAIT = 600; // milliseconds after which the versions that the handles chose are compared: keys move one at a time
const FOCUS = "memoryhub-version-handle";
let waiting = 0;

document.addEventListener("htmx:afterSettle", (event) => {
  const line = document.querySelector("[data-viewed-count]");
  if (!line || !event.detail.elt.closest?.(".change")) return;
  const changes = document.querySelectorAll(".change");
  const viewed = document.querySelectorAll(".change [data-viewed]");
  line.textContent = line.dataset.words.replace("##", changes.length).replace("#", viewed.length);
});

document.addEventListener("input", ({ target }) => {
  if (!target.closest?.("[data-version-handles]")) return;
  document.getElementById(target.dataset.sets).value = target.value;
  clearTimeout(waiting);
});

document.addEventListener("change", ({ target }) => {
  if (!target.closest?.("[data-version-handles]")) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    sessionStorage.setItem(FOCUS, target.dataset.sets);
    target.form.requestSubmit();
  }, WAIT);
});

// After the page has loaded again, the handle that was moved has the focus, so that the arrow keys go on moving it.
const moved = sessionStorage.getItem(FOCUS);
sessionStorage.removeItem(FOCUS);
document.querySelector(`[data-version-handles] [data-sets="${CSS.escape(moved ?? "")}"]`)?.focus();
