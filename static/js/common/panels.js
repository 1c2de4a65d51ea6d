// Elements that open over the page: dialogs by [data-dialog="id"], and menus that close when the person clicks or moves the
// focus elsewhere. Fields that a person unfolds at the end of the view are moved above the bar that covers them.

const openMenus = () => document.querySelectorAll("details[data-menu][open]");

function closeMenu(menu, takeFocus) {
  menu.open = false;
  if (takeFocus) menu.querySelector("summary").focus();
}

document.addEventListener("click", (event) => {
  for (const menu of openMenus()) {
    if (!menu.contains(event.target)) closeMenu(menu, false);
  }
  const opener = event.target.closest("[data-dialog]");
  const dialog = opener && document.getElementById(opener.dataset.dialog);
  if (!dialog || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const menu = opener.closest("details[data-menu]");
  if (menu) closeMenu(menu, true);
  dialog.showModal();
});

document.addEventListener("click", (event) => {
  if (event.target.matches("dialog[open]")) closeWhenOutside(event.target, event);
});

// A click on the backdrop has the dialog as its target, but lies outside the dialog's rectangle.
function closeWhenOutside(dialog, { clientX, clientY }) {
  const box = dialog.getBoundingClientRect();
  const inside = clientX >= box.left && clientX <= box.right && clientY >= box.top && clientY <= box.bottom;
  if (!inside) dialog.close();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) closeMenu(menu, menu.contains(document.activeElement));
});

document.addEventListener("focusin", (event) => {
  for (const menu of openMenus()) {
    if (!menu.contains(event.target)) closeMenu(menu, false);
  }
});

// What a person unfolds to write in ([data-writes]) gets the caret at once: else typed letters would be keys of the page.
document.addEventListener("click", (event) => {
  const folded = event.target.closest("summary")?.parentElement;
  if (!folded?.matches("[data-writes]") || folded.open) return;
  event.preventDefault();
  folded.open = true;
  const field = folded.querySelector("textarea, input:not([type=hidden])");
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
  folded.scrollIntoView({ block: "nearest" });
});

document.addEventListener("click", (event) => {
  const folded = event.target.closest("summary")?.parentElement;
  if (!folded || folded.open || folded.matches("[data-menu]") || !folded.querySelector("input, textarea, select")) return;
  const show = () => folded.scrollIntoView({ block: "nearest" });
  // Once more when what came into view has its true height: long diffs are laid out only then.
  const again = () => (show(), requestAnimationFrame(() => requestAnimationFrame(show)));
  folded.addEventListener("toggle", again, { once: true });
});
