// Keyboard shortcuts: elements declare theirs by data-shortcut ("e", "g s", "/"), and the help behind `?` lists
// those of the page. They do not work inside a field; single keys can be switched off (data-single-keys="off" on the body).

const SEQUENCE_WITHIN = 1200; // milliseconds between `g` and the next key
// Elements in which letters are typed or select an option; a focused box or switch is not one of them.
const FIELDS = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, "
  + "[contenteditable]:not([contenteditable=false])";
let pending = "";
let pendingAt = 0;

const singleKeys = () => document.body.dataset.singleKeys !== "off";
const dialogOpen = () => document.querySelector("dialog[open]") !== null;
const visible = (element) => element.checkVisibility();

// The page's own elements precede those of every page: `/` focuses the filter of a list if there is one.
function bound(keys) {
  const found = [...document.querySelectorAll("[data-shortcut]")].filter((element) => element.dataset.shortcut === keys);
  const seen = found.filter(visible);
  return seen.find((element) => element.closest("main")) ?? seen[0] ?? found.find((element) => element.matches("a[href]"));
}

// In a list of lines with data for it, a key opens the readers of the focused or marked line.
function ofLine(key) {
  const list = document.querySelector(`[data-line-key="${CSS.escape(key)}"]`);
  const line = list?.querySelector(":scope > li:focus-within") ?? list?.querySelector(":scope > .line-marked");
  return line?.querySelector(".blame-seen a");
}

function isPrefix(key) {
  return document.querySelector(`[data-shortcut^="${CSS.escape(key)} "]`) !== null;
}

function run(element) {
  if (element.matches(FIELDS)) {
    element.focus();
    element.select?.();
  } else {
    element.click();
  }
}

// Lists: `j` and `k` move the focus between the first links of the items; Enter follows the link.
function step(by) {
  const all = [...document.querySelectorAll("[data-list-item]")].filter(visible);
  const at = all.findIndex((item) => item.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  const link = next?.matches("summary") ? next : next?.querySelector(".row-link, a[href], button");
  link?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return link != null;
}

function listKeys(dialog) {
  const list = dialog.querySelector("[data-shortcut-list]");
  for (const old of list.querySelectorAll("[data-listed]")) old.remove();
  for (const row of list.querySelectorAll("[data-shortcut-for]")) row.hidden = !document.querySelector(row.dataset.shortcutFor);
  const seen = new Set();
  for (const element of document.querySelectorAll("[data-shortcut]")) {
    if (seen.has(element.dataset.shortcut)) continue;
    seen.add(element.dataset.shortcut);
    list.append(helpRow(element));
  }
  dialog.querySelector("[data-single-keys-off]").hidden = singleKeys();
}

function openHelp() {
  const dialog = document.getElementById("help");
  listKeys(dialog);
  dialog.showModal();
}

function helpRow(element) {
  const row = document.createElement("div");
  row.dataset.listed = "";
  const label = element.dataset.shortcutLabel || element.getAttribute("aria-label") || element.textContent;
  row.append(Object.assign(document.createElement("dt"), { textContent: label.trim().replace(/\s+/g, " ") }));
  const keys = document.createElement("dd");
  for (const key of element.dataset.shortcut.split(" ")) {
    keys.append(Object.assign(document.createElement("kbd"), { textContent: key }));
  }
  row.append(keys);
  return row;
}

function single(key, now) {
  const keys = pending && now - pendingAt < SEQUENCE_WITHIN ? `${pending} ${key}` : key;
  pending = "";
  const element = ofLine(keys) ?? bound(keys);
  if (element) return run(element), true;
  if (isPrefix(key)) return (pending = key), (pendingAt = now), true;
  if (key === "?") return openHelp(), true;
  return (key === "j" && step(1)) || (key === "k" && step(-1));
}

function save(event) {
  const form = document.activeElement?.closest("form[data-save]") ?? document.querySelector("form[data-save]");
  if (!form) return;
  event.preventDefault();
  if (dialogOpen()) return;
  form.requestSubmit(form.querySelector("[data-save-button]") ?? undefined);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const command = event.ctrlKey || event.metaKey;
  if (command && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "s") return save(event);
  if (command || event.altKey || !singleKeys() || dialogOpen() || event.target.closest?.(FIELDS)) return;
  if (single(event.key, event.timeStamp)) event.preventDefault();
});
document.addEventListener("click", (event) => {
  if (event.target.closest('[data-dialog="help"]')) listKeys(document.getElementById("help"));
});
