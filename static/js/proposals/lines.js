// The line numbers of a comparison that begin a comment, .diff-line. One of each table is reached by Tab, and the arrow
// keys lead to the others.

const linesOf = (line) => [...line.closest("table").querySelectorAll(".diff-line")];

function prepare() {
  for (const table of document.querySelectorAll("table.diff:not([data-roving])")) {
    const lines = table.querySelectorAll(".diff-line");
    if (!lines.length) continue;
    table.dataset.roving = "yes";
    lines.forEach((line, place) => (line.tabIndex = place ? -1 : 0));
  }
}

document.addEventListener("DOMContentLoaded", prepare);
document.addEventListener("htmx:load", prepare);
document.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const line = by && event.target.closest?.(".diff-line");
  if (!line) return;
  event.preventDefault();
  const lines = linesOf(line);
  const next = lines[lines.indexOf(line) + by];
  if (!next) return;
  line.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
