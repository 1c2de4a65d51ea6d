// Links to lines: #L10 and #L10-L20 are marked and scrolled to; shift-click, or Shift with the arrow keys, selects a
// range. The last line of the range has a link to the form for a comment, and to the one for a rule that protects the
// range from agents, where the person may write these. Links with `data-keep-hash` lead to the same lines on another page.

const ADDRESS = /^#L(\d+)(?:-L(\d+))?$/;
let anchor = null; // the line at which a range starts

const numberOf = (link) => Number(link.parentElement.id.slice(1));
const lineAt = (number) => document.getElementById(`L${number}`);
const linkAt = (number) => lineAt(number)?.querySelector("a");

function chosen() {
  const match = ADDRESS.exec(location.hash);
  if (!match) return null;
  const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
  return { first: Math.min(first, last), last: Math.max(first, last) };
}

function mark(range) {
  for (const line of document.querySelectorAll(".line-marked")) line.classList.remove("line-marked");
  for (const link of document.querySelectorAll(".line-comment, .line-protect")) link.remove();
  for (const link of document.querySelectorAll("a[data-keep-hash]")) link.hash = range ? location.hash : "";
  if (!range) return;
  for (let line = lineAt(range.first); line && numberOf(line.firstElementChild) <= range.last; line = line.nextElementSibling) {
    line.classList.add("line-marked");
  }
  const line = lineAt(range.last) ?? lineAt(range.first);
  const { comment, protect, protectUrl } = line?.parentElement.dataset ?? {};
  const address = new URL(location.href);
  address.searchParams.set("comment", range.first === range.last ? range.first : `${range.first}-${range.last}`);
  address.hash = "";
  offer(line, "line-protect", protect, `${protectUrl}${range.first}-${range.last}`);
  offer(line, "line-comment", comment, address);
}

function offer(line, name, label, address) {
  if (!label) return;
  const link = document.createElement("a");
  link.className = `button button-small ${name}`;
  link.href = address;
  link.textContent = label;
  line.querySelector("code").after(link);
}

function choose(first, last) {
  const [low, high] = [Math.min(first, last), Math.max(first, last)];
  history.replaceState(history.state, "", low === high ? `#L${low}` : `#L${low}-L${high}`);
  mark({ first: low, last: high });
}

function showChosen() {
  const range = chosen();
  anchor = range?.first ?? null;
  mark(range);
  lineAt(range?.first)?.scrollIntoView({ block: "center" });
}

// One line number is reached by Tab, the others from it by the arrow keys: a text has too many lines for a tab stop
// each.
function rove(link) {
  const list = link.closest("[data-lines]");
  list.querySelector('a[tabindex="0"]')?.setAttribute("tabindex", "-1");
  link.setAttribute("tabindex", "0");
}

function prepare(list) {
  if (list.dataset.prepared) return;
  list.dataset.prepared = "yes";
  for (const link of list.querySelectorAll(":scope > li > a:first-child")) link.setAttribute("tabindex", "-1");
  list.querySelector(":scope > li > a")?.setAttribute("tabindex", "0");
}

const numberLink = (event) => event.target.closest?.("[data-lines] > li > a:first-child");

document.addEventListener("click", (event) => {
  const link = numberLink(event);
  if (!link || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const number = numberOf(link);
  if (!event.shiftKey || anchor === null) anchor = number;
  rove(link);
  choose(anchor, number);
});

document.addEventListener("keydown", (event) => {
  const link = numberLink(event);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = link && step && linkAt(numberOf(link) + step);
  if (!next) return;
  event.preventDefault();
  if (event.shiftKey) choose((anchor ??= numberOf(link)), numberOf(next));
  rove(next);
  next.focus();
});

const prepareAll = () => document.querySelectorAll("[data-lines]").forEach(prepare);

document.addEventListener("htmx:load", prepareAll);
window.addEventListener("hashchange", showChosen);
prepareAll();
showChosen();
