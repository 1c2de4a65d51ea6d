// A name of a colleague goes into the text of a comment after an @: chosen in the list beside the text
// (select[data-tell]), or in the list that opens below the text while a name is typed after an @.

const offerNames = () => document.querySelectorAll("select[data-tell]").forEach((names) => (names.hidden = false));
const formOf = (element) => element.closest(".thread-form, form");

document.addEventListener("DOMContentLoaded", offerNames);
document.addEventListener("htmx:load", offerNames);
document.addEventListener("change", ({ target }) => {
  if (!target.matches?.("select[data-tell]") || !target.value) return;
  const text = formOf(target).querySelector("textarea");
  const { selectionStart: at, selectionEnd: end } = text;
  const gap = at && !/\s/.test(text.value[at - 1]) ? " " : "";
  text.setRangeText(`${gap}@${target.value} `, at, end, "end");
  target.value = "";
  text.focus();
});

const TYPED = /(?<![\p{L}\p{N}_])@(\S*(?: \S*)?)$/u;
const box = document.createElement("div");
box.id = "names-to-tell";
box.className = "completions tell-names";
box.setAttribute("role", "listbox");
let chosen = 0;

const typedIn = (text) => TYPED.exec(text.value.slice(0, text.selectionStart))?.[1];

// The options of the names of which a word begins with what is typed; none if it is a whole name.
function fitting(names, typed) {
  const folded = typed.toLowerCase();
  const all = [...names.options].filter(({ value }) => value);
  if (all.some(({ value }) => value.toLowerCase() === folded)) return [];
  return all.filter(({ value }) => ` ${value.toLowerCase()}`.includes(` ${folded}`));
}

function mark(text, at) {
  box.children[chosen]?.setAttribute("aria-selected", "false");
  chosen = (at + box.children.length) % box.children.length;
  box.children[chosen].setAttribute("aria-selected", "true");
  box.children[chosen].scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", box.children[chosen].id);
}

function close() {
  const text = box.isConnected && formOf(box)?.querySelector("[aria-controls=names-to-tell]");
  for (const name of ["aria-controls", "aria-autocomplete", "aria-activedescendant"]) text && text.removeAttribute(name);
  box.remove();
}

function open(text) {
  const names = formOf(text)?.querySelector("select[data-tell]");
  const typed = typedIn(text);
  const found = names && formOf(names) === formOf(text) && typed !== undefined ? fitting(names, typed) : [];
  close();
  if (!found.length) return;
  box.replaceChildren(...found.map(({ value, label }, at) => {
    const option = Object.assign(document.createElement("div"), { className: "completion", id: `name-to-tell-${at}` });
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    option.dataset.name = value;
    option.textContent = label;
    return option;
  }));
  box.setAttribute("aria-label", names.getAttribute("aria-label"));
  (text.closest("label") ?? text).after(box);
  text.setAttribute("aria-controls", box.id);
  text.setAttribute("aria-autocomplete", "list");
  mark(text, 0);
}

function take(text, option) {
  const at = text.selectionStart;
  text.setRangeText(`${option.dataset.name} `, at - typedIn(text).length, at, "end");
  close();
}

document.addEventListener("input", ({ target }) => target.matches?.("textarea") && open(target));
document.addEventListener("focusout", ({ target }) => target.matches?.("[aria-controls=names-to-tell]") && close());
document.addEventListener("keydown", (event) => {
  const text = event.target;
  if (!text.matches?.("[aria-controls=names-to-tell]") || event.isComposing) return;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps) mark(text, chosen + steps[event.key]);
  else if (event.key === "Enter" || event.key === "Tab") take(text, box.children[chosen]);
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
box.addEventListener("mousedown", (event) => {
  event.preventDefault(); // the text keeps the focus
  const option = event.target.closest("[role=option]");
  if (option) take(formOf(box).querySelector("[aria-controls=names-to-tell]"), option);
});
