// Steps between the changes of the page's comparisons: [data-step="1"] and [data-step="-1"] are links to the next and
// the previous change, counted from the one in the address or in view. Without this script they lead to the first and
// the last change.

const all = () => [...document.querySelectorAll(".diff tr[id]")].filter((row) => row.checkVisibility());

function edge() {
  return Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingBlockStart) || 0;
}

function following(rows, by) {
  const at = rows.findIndex((row) => `#${row.id}` === location.hash);
  if (at >= 0) return rows[at + by];
  const top = edge();
  const beneath = rows.filter((row) => row.getBoundingClientRect().top >= top - 1);
  return by > 0 ? beneath[0] : rows[rows.length - beneath.length - 1];
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-step]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const row = following(all(), Number(link.dataset.step));
  if (!row) return;
  location.hash = row.id;
  row.closest("tbody").querySelector(".diff-head input")?.focus({ preventScroll: true }); // the space bar ticks it
});
