// Keyboard control of a memory store's tree, following the WAI-ARIA practices; directories load when they are first
// opened and stay open from page to page.

const items = (tree) => [...tree.querySelectorAll('[role="treeitem"]')].filter((item) => item.offsetParent !== null);
const groupOf = (item) => item.parentElement.querySelector(':scope > [role="group"]');
const parentOf = (item) => item.closest('[role="group"]')?.parentElement.querySelector(':scope > [role="treeitem"]');
const isOpen = (item) => item.getAttribute("aria-expanded") === "true";
const keyOf = (tree) => `tree:${tree.dataset.tree}`;

function remembered(tree) {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(keyOf(tree)) ?? "[]"));
  } catch {
    return new Set();
  }
}

function remember(tree, item) {
  const paths = remembered(tree);
  if (isOpen(item)) paths.add(item.dataset.path);
  else paths.delete(item.dataset.path);
  try {
    sessionStorage.setItem(keyOf(tree), JSON.stringify([...paths]));
  } catch {
    // A browser may refuse storage; then open directories are not remembered.
  }
}

function setOpen(item, open) {
  if (!item.hasAttribute("aria-expanded")) return;
  item.setAttribute("aria-expanded", String(open));
  const group = groupOf(item);
  if (open && group && group.childElementCount === 0) group.dispatchEvent(new CustomEvent("tree:open"));
}

function toggle(item) {
  setOpen(item, !isOpen(item));
  remember(item.closest('[role="tree"]'), item);
}

function moveTo(item) {
  if (!item) return;
  rove(item);
  item.focus();
}

function rove(item) {
  const tree = item.closest('[role="tree"]');
  for (const other of tree.querySelectorAll('[role="treeitem"][tabindex="0"]')) other.setAttribute("tabindex", "-1");
  item.setAttribute("tabindex", "0");
}

function prepare(tree) {
  const all = tree.querySelectorAll('[role="treeitem"]');
  for (const item of all) if (item.getAttribute("tabindex") !== "0") item.setAttribute("tabindex", "-1");
  if (tree.querySelector('[tabindex="0"]')) return;
  (tree.querySelector("[aria-current]") ?? all[0])?.setAttribute("tabindex", "0");
}

function reopen(tree) {
  const paths = remembered(tree);
  for (const item of tree.querySelectorAll('[role="treeitem"][aria-expanded="false"]')) {
    if (paths.has(item.dataset.path)) setOpen(item, true);
  }
}

const KEYS = {
  ArrowDown: (item, all) => moveTo(all[all.indexOf(item) + 1]),
  ArrowUp: (item, all) => moveTo(all[all.indexOf(item) - 1]),
  Home: (item, all) => moveTo(all[0]),
  End: (item, all) => moveTo(all.at(-1)),
  ArrowRight: (item, all) => {
    if (item.hasAttribute("aria-expanded") && !isOpen(item)) toggle(item);
    else if (isOpen(item) && groupOf(item)?.childElementCount) moveTo(all[all.indexOf(item) + 1]);
  },
  ArrowLeft: (item) => (isOpen(item) ? toggle(item) : moveTo(parentOf(item))),
  " ": (item) => item.click(),
  "*": (item) => {
    for (const sibling of item.closest("ul").querySelectorAll(':scope > li > [aria-expanded="false"]')) toggle(sibling);
  },
};

let typed = "";
let typedAt = 0;

function findTyped(item, all, key, now) {
  typed = now - typedAt > 700 ? key : typed + key;
  typedAt = now;
  const from = all.indexOf(item) + (typed.length === 1 ? 1 : 0);
  const order = [...all.slice(from), ...all.slice(0, from)];
  const nameOf = (other) => (other.querySelector(".tree-name") ?? other).textContent.trim().toLowerCase();
  moveTo(order.find((other) => nameOf(other).startsWith(typed.toLowerCase())));
}

document.addEventListener("keydown", (event) => {
  const item = event.target.closest?.('[role="treeitem"]');
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = items(item.closest('[role="tree"]'));
  if (KEYS[event.key]) KEYS[event.key](item, all);
  else if (/^[\p{L}\p{N}._-]$/u.test(event.key)) findTyped(item, all, event.key, event.timeStamp);
  else return;
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("click", (event) => {
  const item = event.target.closest?.(".tree-toggle")?.closest("[role=treeitem][aria-expanded]");
  if (!item) return;
  event.preventDefault();
  toggle(item);
  moveTo(item);
});

// A directory that failed to load is closed again; the page's alert region says why.
document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  if (detail.xhr.status >= 200 && detail.xhr.status < 300) return;
  const group = target.closest?.('[role="tree"] [role="group"]');
  const item = group?.childElementCount === 0 && group.parentElement.querySelector(":scope > [aria-expanded]");
  if (!item) return;
  setOpen(item, false);
  remember(item.closest('[role="tree"]'), item);
});

function prepareAll() {
  for (const tree of document.querySelectorAll('[role="tree"][data-tree]')) {
    prepare(tree);
    reopen(tree);
  }
}

// htmx reports each new line separately; the tree is scanned once for all of them. If the focused line is gone (it was
// "show more"), the first new line gets the focus.
let firstNew = null;

function settled() {
  if (document.activeElement === document.body) moveTo(firstNew.querySelector('[role="treeitem"]'));
  firstNew = null;
  prepareAll();
}

document.addEventListener("htmx:afterSettle", ({ target }) => {
  if (firstNew !== null || !target.closest?.('[role="tree"]')) return;
  firstNew = target;
  setTimeout(settled);
});

// htmx listens for tree:open once it has processed the page.
if (document.readyState === "complete") prepareAll();
else window.addEventListener("load", prepareAll);
