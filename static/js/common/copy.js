// Copy buttons: [data-copy="#id"] copies the text of an element, [data-copy-text="…"] the given text. [data-print] prints.

const SHOWN_FOR = 2000; // milliseconds
const before = new WeakMap();

function textOf(button) {
  if (button.dataset.copyText !== undefined) return button.dataset.copyText;
  const source = document.querySelector(button.dataset.copy);
  return source?.value ?? source?.textContent ?? "";
}

// Without a secure context there is no clipboard API; a selection and the old copy command still work.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = Object.assign(document.createElement("textarea"), { value: text });
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("not copied");
}

function announce(sentence) {
  let region = document.getElementById("copied");
  if (!region) {
    region = Object.assign(document.createElement("div"), { id: "copied", className: "visually-hidden" });
    region.setAttribute("role", "status");
    document.body.append(region);
  }
  region.textContent = sentence;
}

// The button confirms for a moment: in its text or, for an icon, in its name and picture.
function show(button, sentence) {
  if (before.has(button)) return;
  const label = button.querySelector("span");
  const use = button.querySelector("use");
  before.set(button, true);
  const [text, picture] = [label?.textContent, use?.getAttribute("href")];
  if (label) label.textContent = sentence;
  use?.setAttribute("href", picture.replace(/#.*/, "#check"));
  announce(sentence);
  setTimeout(() => {
    if (label) label.textContent = text;
    use?.setAttribute("href", picture);
    announce("");
    before.delete(button);
  }, SHOWN_FOR);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-text]");
  if (!button) return;
  event.preventDefault();
  await copy(textOf(button));
  show(button, button.dataset.copied ?? "");
});

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-print]")) print();
});
