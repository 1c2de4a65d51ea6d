// The review inbox: claims, the selection, and keys that act on the focused item: `x` selects, the buttons' keys
// decide. After a decision the focus moves to the next item. The rows of Today have such keys too.

const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]:not([contenteditable=false])";
const RENEW = 120_000; // milliseconds after which a claim is renewed; it expires after five minutes
const claimed = new Map();
const deciding = new WeakSet(); // items about which a decision is under way
// Milliseconds, as in shortcuts.js: a letter this soon after `g` names a place and decides nothing.
const SEQUENCE_WITHIN = 1200;
const NEAR_THE_END = 3; // items: when one of the last has the focus, the next page loads
let following = null;
let asked = null;
let replaced = null;
let goingSince = -Infinity;

const inbox = () => document.querySelector("[data-review-inbox]");
const items = () => [...document.querySelectorAll("[data-review-item]")];
const itemOf = (element) => element?.closest?.("[data-review-item]");

function focusOn(item) {
  const place = item?.querySelector("[data-review-refusal]") ?? item?.querySelector("h3 a");
  place?.focus({ preventScroll: true });
  item?.scrollIntoView({ block: "nearest" });
}

function begin(item) {
  const last = claimed.get(item.id) ?? -RENEW;
  if (!item.hasAttribute("hx-post") || performance.now() - last < RENEW) return;
  claimed.set(item.id, performance.now());
  window.htmx.trigger(item, "review:begin");
}

const isSeen = ({ top, bottom }) => bottom > 0 && top < window.innerHeight;
const beginsInView = ({ top }) => top >= 0 && top < window.innerHeight;

// The item that a person sees first.
function firstSeen() {
  const places = items().map((item) => [item, item.getBoundingClientRect()]);
  return (places.find(([, place]) => beginsInView(place)) ?? places.find(([, place]) => isSeen(place)))?.[0];
}

// A key does nothing to an item that has been scrolled out of view: it only moves the focus to one that is seen.
function act(item, key) {
  const button = item.querySelector(key === "x" ? "[data-review-select]" : `[data-review-key="${CSS.escape(key)}"]`);
  if (!button) return false;
  if (!isSeen(item.getBoundingClientRect())) {
    focusOn(firstSeen() ?? item);
  } else if (button.matches("input:not([type=checkbox])")) {
    button.focus();
  } else if (button.matches("summary")) {
    button.parentElement.open = true;
    button.parentElement.querySelector("input[name=note], select").focus();
  } else {
    button.click();
  }
  return true;
}

function count() {
  const shown = document.querySelector("[data-review-count]");
  if (!shown) return;
  const boxes = [...document.querySelectorAll("[data-review-select]")];
  const chosen = boxes.filter((box) => box.checked).length;
  shown.textContent = chosen ? shown.dataset.words.replace("#", chosen) : "";
  const all = document.querySelector("[data-review-all]");
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
}

// Replaces an item that was approved together with another by a line in its place.
function settle(item, said) {
  const line = document.createElement("li");
  line.className = "review-item review-decided";
  line.append(Object.assign(document.createElement("p"), { textContent: said }));
  item.replaceWith(line);
}

// Refreshes the other versions of a memory, which say how many earlier ones they would approve too, unless a note is
// being typed.
function refreshOthers({ memory, version }) {
  for (const item of items()) {
    if (item.dataset.reviewMemory !== memory || item.dataset.reviewItem === version) continue;
    if ([...item.querySelectorAll("input[name=note]")].some((note) => note.value !== note.defaultValue)) continue;
    refresh(item);
  }
}

function refresh(item) {
  const values = { version: item.dataset.reviewItem, refresh: "1" };
  const url = item.getAttribute("hx-post");
  if (url) window.htmx.ajax("POST", url, { source: item, target: item, swap: "outerHTML", values });
}

// While a decision about an item is under way, drops every other answer for it: the decision's answer has the sentence, the
// undo and the count. Also drops an answer for an item that another answer has replaced in the meantime: there is no place
// for it on the page. After a decision the item that is there now is refreshed instead.
function dropIfReplaced(event) {
  const item = event.currentTarget;
  const isDecision = event.detail.requestConfig.elt !== item;
  if (item.isConnected && (isDecision || !deciding.has(item))) {
    if (!isDecision && item.contains(document.activeElement)) replaced = { xhr: event.detail.xhr, id: item.id };
    return;
  }
  event.detail.shouldSwap = false;
  const present = document.getElementById(item.id);
  if (isDecision && present?.matches("[data-review-item]")) refresh(present);
}

// Loads the next page in place of the link to it.
function loadMore(item) {
  const link = document.querySelector("[data-review-more]");
  if (link && items().slice(-NEAR_THE_END).includes(item)) window.htmx.trigger(link, "review:more");
}

document.addEventListener("focusin", (event) => {
  const item = itemOf(event.target);
  if (!item) return;
  begin(item);
  loadMore(item);
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-review-all]")) {
    for (const box of document.querySelectorAll("[data-review-select]")) box.checked = event.target.checked;
  }
  if (event.target.matches("[data-review-all], [data-review-select]")) count();
});

// The note of a decision says for whom it is, as the tick beside it has it.
document.addEventListener("change", ({ target }) => {
  const note = target.matches(".tell-agent input") && target.form?.querySelector("[data-for-agent]");
  if (note) note.placeholder = target.checked ? note.dataset.forAgent : note.dataset.forColleagues;
});

// What is already written in the note of a decision is the first text of the flag's note.
document.addEventListener("toggle", ({ target }) => {
  if (!target.matches?.(".review-flagging") || !target.open) return;
  const note = target.parentElement.querySelector(".review-form input[name=note]");
  const wrong = target.querySelector("input[name=note]");
  if (note && !wrong.value) wrong.value = note.value;
}, true);

// Escape leaves a field of a decision and keeps what is typed; in the note, Enter does the same: only buttons decide.
document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.(".review-decide .review-note input");
  if (!field || event.isComposing || (event.key !== "Escape" && (event.key !== "Enter" || !field.dataset.reviewKey))) return;
  event.preventDefault();
  field.blur();
  focusOn(itemOf(field));
});

document.addEventListener("keydown", (event) => {
  if (!inbox() || event.defaultPrevented || event.isComposing || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.body.dataset.singleKeys === "off" || document.querySelector("dialog[open]")) return;
  if (event.key.length !== 1 || event.target.closest?.(FIELDS)) return;
  const isPlace = event.timeStamp - goingSince < SEQUENCE_WITHIN;
  goingSince = event.key === "g" ? event.timeStamp : -Infinity;
  if (isPlace) return;
  const item = itemOf(document.activeElement) ?? items()[0];
  if (item && act(item, event.key)) event.preventDefault();
});

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt.matches("[data-review-more]")) {
    asked = { xhr: event.detail.xhr, hadFocus: event.detail.elt === document.activeElement, last: items().at(-1) };
  }
  if (event.detail.elt.closest("[data-review-beside]")) return; // what is shown beside an item decides nothing
  const item = event.detail.elt.closest("[data-review-item], [data-review-decided]");
  item?.addEventListener("htmx:beforeSwap", dropIfReplaced);
  if (!item || event.detail.elt === item) return;
  deciding.add(item);
  event.detail.xhr.addEventListener("loadend", () => deciding.delete(item));
  const all = items();
  following = { xhr: event.detail.xhr, id: item.id, next: all[all.indexOf(item) + 1]?.id ?? all[all.indexOf(item) - 1]?.id };
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.xhr === asked?.xhr) {
    count();
    const all = items();
    if (asked.hadFocus) focusOn(all[all.indexOf(asked.last) + 1]);
    asked = null;
    loadMore(itemOf(document.activeElement)); // keys may have reached the end while this page was loading
  }
  // The focused item was refreshed: without this, the next key would begin at the first item again.
  if (event.detail.xhr === replaced?.xhr) {
    if (document.activeElement === document.body) focusOn(document.getElementById(replaced.id));
    replaced = null;
  }
  if (!following || event.detail.xhr !== following.xhr) return; // another answer, for example to a claim
  const { id, next } = following;
  following = null;
  count();
  const same = document.getElementById(id);
  if (same?.matches("[data-review-item]")) return focusOn(same);
  focusOn(document.getElementById(next) ?? items()[0] ?? same);
  if (!items().length) same?.focus();
});

document.addEventListener("review:decided", (event) => {
  for (const version of event.detail.versions) {
    const item = document.getElementById(`item-${version}`);
    if (item?.matches("[data-review-item]")) settle(item, event.detail.said);
  }
  refreshOthers(event.detail);
});

// On the way to another page, remembers the focused item and those after it; the first of them that still waits gets the
// focus when the person comes back to this inbox. What was done there is then said right above it, where it is seen.
const ROWS = `review-rows:${location.pathname}${location.search}`;

window.addEventListener("pagehide", () => {
  const all = items();
  const at = all.indexOf(itemOf(document.activeElement));
  if (inbox() && at >= 0) sessionStorage.setItem(ROWS, all.slice(at).map((item) => item.id).join(" "));
});

function goOn() {
  const rows = sessionStorage.getItem(ROWS)?.split(" ") ?? [];
  sessionStorage.removeItem(ROWS);
  const id = rows.find((row) => document.getElementById(row));
  const item = document.getElementById(id);
  if (!item?.matches("li")) return; // the page of one proposal begins at its top, with what is said
  const said = document.querySelector("main .banners .banner")?.closest(".banners");
  if (said) {
    const place = item.parentElement.insertBefore(document.createElement("li"), item);
    place.className = "review-said";
    place.append(said);
  }
  focusOn(item);
  said?.parentElement.scrollIntoView({ block: "nearest" });
}

if (inbox()) document.addEventListener("DOMContentLoaded", goOn); // then htmx hears the claim, too
count();

// Enter in a field presses the button that it names, where the form has several: input[data-enter].
document.addEventListener("keydown", (event) => {
  const button = event.key === "Enter" && !event.isComposing && event.target.dataset?.enter;
  if (!button) return;
  event.preventDefault();
  document.getElementById(button)?.click();
});
