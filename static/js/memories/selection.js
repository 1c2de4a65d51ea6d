// Selection of rows for an act on all of them: `x` ticks the focused row, shift-click a range, and a bar shows the
// number. Without this script the boxes and buttons of the form still work.

const FIELDS = "textarea, select, [contenteditable]:not([contenteditable=false]), input:not([type=checkbox])";
const UNITS = ["B", "KB", "MB", "GB", "TB"];
let lastTicked = null;

const boxesOf = (form) => [...form.querySelectorAll("input[data-select]")];
const everythingOf = (form) => form.querySelector("input[name=everything]");

function sized(bytes) {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 || value >= 100 ? Math.round(value) : Math.round(value * 10) / 10} ${UNITS[unit]}`;
}

function summed(boxes, name) {
  return boxes.reduce((sum, box) => sum + Number(box.dataset[name] ?? 0), 0);
}

// The text of the bar: the number of rows, and of the memories in them if directories are among them.
function told(words, ticked) {
  const count = summed(ticked, "count");
  const parts = [words.selected.replace("#", ticked.length.toLocaleString())];
  if (count !== ticked.length) parts.push(count === 1 ? words.memory : words.memories.replace("#", count.toLocaleString()));
  if (ticked.some((box) => box.dataset.size)) parts.push(sized(summed(ticked, "size")));
  return parts.join(" · ");
}

function show(form) {
  const boxes = boxesOf(form);
  const ticked = boxes.filter((box) => box.checked);
  const all = form.querySelector("[data-selection-all]");
  const everything = everythingOf(form);
  const whole = boxes.length > 0 && ticked.length === boxes.length;
  if (everything && !whole) everything.checked = false;
  for (const box of boxes) box.closest("[data-list-item]")?.toggleAttribute("data-ticked", box.checked);
  if (all) [all.checked, all.indeterminate] = [whole, ticked.length > 0 && !whole];
  const bar = form.querySelector("[data-selection-bar]");
  bar.toggleAttribute("data-on", ticked.length > 0);
  bar.querySelector("[data-selection-everything]")?.toggleAttribute("hidden", !whole);
  const words = bar.querySelector("[data-selection-count]");
  const text = told(words.dataset, everything?.checked ? [everything] : ticked);
  words.textContent = everything?.checked ? text.slice(text.indexOf("·") + 2) : text;
}

function tickRange(form, to, checked) {
  const boxes = boxesOf(form);
  const [from, last] = [boxes.indexOf(lastTicked), boxes.indexOf(to)].sort((a, b) => a - b);
  if (from < 0) return;
  for (const box of boxes.slice(from, last + 1)) box.checked = checked;
}

function tickAll(form, checked) {
  for (const box of boxesOf(form)) box.checked = checked;
  show(form);
}

document.addEventListener("click", (event) => {
  const box = event.target.closest("input[data-select]");
  const form = event.target.closest("[data-selection]");
  if (!form) return;
  if (box) {
    if (event.shiftKey && lastTicked) tickRange(form, box, box.checked);
    lastTicked = box;
    show(form);
  } else if (event.target.matches("[data-selection-all]")) {
    tickAll(form, event.target.checked);
  } else if (event.target.closest("[data-selection-clear]")) {
    tickAll(form, false);
  } else if (event.target.matches("input[name=everything]")) {
    show(form);
  }
});

// The focus moves from a box to the link of its row, so that `j` and `k` continue from there.
function toggleFocused(range) {
  const item = document.activeElement?.closest("[data-list-item]");
  const box = item?.querySelector("input[data-select]");
  if (!box) return false;
  const form = box.closest("[data-selection]");
  box.checked = !box.checked;
  if (range && lastTicked) tickRange(form, box, box.checked);
  lastTicked = box;
  show(form);
  if (document.activeElement.matches("input")) item.querySelector(".row-link, a[href]")?.focus();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.body.dataset.singleKeys === "off" || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.(FIELDS) || event.key.toLowerCase() !== "x") return;
  if (toggleFocused(event.shiftKey)) event.preventDefault();
});

function start() {
  for (const form of document.querySelectorAll("[data-selection]")) show(form);
}

// A page restored from the browser's cache keeps its ticks.
window.addEventListener("pageshow", start);
document.addEventListener("htmx:afterSettle", start);
