// The palette (`/`, Ctrl or ⌘ K), the path finder (t), the finder's page and the completions of a filter: results follow
// the typing. Late answers are dropped. Without script, links marked data-palette lead to plain pages.

const DELAY = 60; // milliseconds after a keystroke
const FIELDS = "input, textarea, select";
const dialog = document.getElementById("palette");
const input = document.getElementById("palette-input");
const list = document.getElementById("palette-list");
let mode = "all";
let chosen = -1;

// A pasted key is found by its last characters, so that it is in no address.
const KEY = /mh_[A-Za-z0-9_-]{39}([A-Za-z0-9_-]{4})/g;
const withoutKeys = (text) => text.replace(KEY, "mh_…$1");
const queryOf = (text) => `q=${encodeURIComponent(withoutKeys(text))}`;

// A field of which only the latest query is answered.
function asking(show) {
  let turn = 0;
  let timer = 0;
  return (url, wait = DELAY) => {
    const own = ++turn;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try {
        const response = await fetch(url, { headers: { "HX-Request": "true" } });
        const signIn = response.headers.get("HX-Redirect");
        if (own !== turn) return;
        if (signIn) location.assign(signIn);
        else if (response.ok) show(await response.text(), () => own === turn);
      } catch {
        // The next keystroke asks again.
      }
    }, wait);
  };
}

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // made by the hub, like every page
  return template.content;
}

// ---------------------------------------------------------------------------------------------------- the dialog

const options = () => [...list.querySelectorAll("[role=option]")];

function choose(at) {
  const all = options();
  all[chosen]?.setAttribute("aria-selected", "false");
  chosen = all.length ? (at + all.length) % all.length : -1;
  all[chosen]?.setAttribute("aria-selected", "true");
  all[chosen]?.scrollIntoView({ block: "nearest" });
  if (chosen < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", all[chosen].id);
}

function group(label, rows) {
  const element = document.createElement("div");
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", label);
  const title = Object.assign(document.createElement("div"), { className: "palette-label", textContent: label });
  title.setAttribute("aria-hidden", "true");
  element.append(title, ...rows);
  return element;
}

function asOption(element) {
  element.className = `palette-option ${element.className}`;
  element.setAttribute("role", "option");
  element.setAttribute("aria-selected", "false");
  element.tabIndex = -1;
  return element;
}

function show(html) {
  const found = parsed(html);
  const groups = [...found.querySelectorAll("[data-label]")].map((part) => [part.dataset.label, [...part.querySelectorAll("a, button")]]);
  if (!groups.length) groups.push([dialog.dataset.paths, [...found.querySelectorAll("a")]]);
  const lastOnes = found.querySelectorAll("[data-last]").length;
  const last = lastOnes ? groups.splice(-lastOnes) : []; // offered, but never before something to open
  if (mode === "all") groups.push([dialog.dataset.actions, actions()]);
  const named = groups.some(([, rows]) => rows.length);
  groups.push(...last);
  list.replaceChildren(...groups.filter(([, rows]) => rows.length).map(([label, rows]) => group(label, rows.map(asOption))));
  options().forEach((option, number) => (option.id = `palette-option-${number}`));
  const count = options().length;
  list.hidden = count === 0;
  input.setAttribute("aria-expanded", String(count > 0));
  dialog.querySelector("[data-palette-nothing]").hidden = named || !input.value.trim();
  const status = dialog.querySelector("[data-palette-count]");
  status.textContent = input.value.trim() ? `${count} ${status.dataset.words}` : "";
  chosen = -1;
  choose(0);
}

// Entries of the page itself: its shortcuts and the main navigation.
function actions() {
  const words = fold(input.value).split(/\s+/).filter(Boolean);
  const seen = new Set([document.querySelector(".topbar-search")?.dataset.shortcutLabel]); // it opened the palette
  return [...document.querySelectorAll("[data-shortcut], .topnav a")].flatMap((element) => {
    const label = (element.dataset.shortcutLabel || element.getAttribute("aria-label") || element.textContent).trim().replace(/\s+/g, " ");
    const usable = !dialog.contains(element) && !element.disabled && (element.getClientRects().length || element.matches("a[href]"));
    if (!label || !usable || seen.has(label) || !words.every((word) => fold(label).includes(word))) return [];
    seen.add(label);
    return [action(element, label)];
  });
}

const fold = (text) => text.normalize("NFKC").toLowerCase();

function action(element, label) {
  const option = document.createElement("div");
  option.append(Object.assign(document.createElement("span"), { className: "found-name", textContent: label }));
  for (const key of element.dataset.shortcut?.split(" ") ?? []) {
    option.append(Object.assign(document.createElement("kbd"), { textContent: key }));
  }
  option.addEventListener("click", () => {
    dialog.close();
    if (!element.matches(FIELDS)) return element.click();
    element.focus();
    element.select?.();
  });
  return option;
}

const ask = asking((html, isLast) => isLast() && show(html));

function address() {
  const query = queryOf(input.value);
  if (mode === "paths" && dialog.dataset.find) return `${dialog.dataset.find}?${query}`;
  return `${dialog.dataset.url}?${query}&store=${encodeURIComponent(dialog.dataset.store)}${mode === "paths" ? "&only=paths" : ""}`;
}

function searchMemories() {
  const { search, store, url } = dialog.dataset;
  if (withoutKeys(input.value) !== input.value) return location.assign(`${url}?${queryOf(input.value)}`);
  location.assign(`${search}?${queryOf(input.value)}${store ? `&store=${encodeURIComponent(store)}` : ""}`);
}

function open(as) {
  mode = as;
  dialog.classList.toggle("palette-paths", as === "paths");
  const label = as === "paths" ? input.dataset.labelPaths : input.dataset.labelAll;
  input.setAttribute("aria-label", label);
  input.placeholder = label;
  input.value = "";
  if (!dialog.open) {
    list.replaceChildren();
    list.hidden = true;
    dialog.showModal();
  }
  input.focus();
  ask(address(), 0);
}

if (dialog) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-palette]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    open(link.dataset.palette);
  });
  document.addEventListener("keydown", (event) => {
    const command = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!command || event.key.toLowerCase() !== "k" || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") && !dialog.open) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open("all");
  });
  input.addEventListener("input", () => ask(address()));
  input.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.isComposing) return;
    if (event.key in steps) choose(chosen + steps[event.key]);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) searchMemories();
    else if (event.key === "Enter") options()[chosen]?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener("mousemove", (event) => {
    const at = options().indexOf(event.target.closest("[role=option]"));
    if (at >= 0 && at !== chosen) choose(at);
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

// A form that would put a key into the address leads to what can be done about the key.
document.addEventListener("submit", (event) => {
  if (!dialog || event.target.method !== "get") return;
  const text = [...new FormData(event.target).values()].find((value) => withoutKeys(String(value)) !== value);
  if (text === undefined) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  location.assign(`${dialog.dataset.url}?${queryOf(text)}`);
}, true);

// ---------------------------------------------------------------------------------------------- the finder's page

function finder(form) {
  const field = form.querySelector("input[type=search]");
  const found = document.getElementById("found-paths");
  const links = () => [...found.querySelectorAll("a")];
  const look = asking((html, isLast) => {
    if (!isLast()) return;
    found.replaceChildren(parsed(html));
    found.parentElement.hidden = !found.children.length;
    document.getElementById("found-nothing")?.setAttribute("hidden", "");
    history.replaceState(history.state, "", `?${queryOf(field.value)}`);
  });
  field.addEventListener("input", () => look(`${form.dataset.finder}?${queryOf(field.value)}`));
  form.addEventListener("submit", (event) => {
    if (!links().length) return;
    event.preventDefault();
    links()[0].click();
  });
  document.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    const places = [field, ...links()];
    const at = places.indexOf(document.activeElement);
    if (at < 0 || !(event.key in steps) || event.isComposing) return;
    event.preventDefault();
    places[Math.max(0, Math.min(places.length - 1, at + steps[event.key]))].focus();
  });
}

for (const form of document.querySelectorAll("form[data-finder]")) finder(form);

// ---------------------------------------------------------------------------------- the filter above a list completes

// No completion is chosen by itself: Enter filters by what is typed.
function completing(form) {
  const field = form.querySelector("#filter-words");
  const box = form.querySelector("#filter-completions");
  const status = document.querySelector("[data-completions-count]");
  const all = () => [...box.querySelectorAll("[role=option]")];
  let at = -1;

  function close() {
    box.hidden = true;
    field.setAttribute("aria-expanded", "false");
    mark(-1);
  }

  function mark(next) {
    const options = all();
    options[at]?.setAttribute("aria-selected", "false");
    at = next;
    options[at]?.setAttribute("aria-selected", "true");
    options[at]?.scrollIntoView({ block: "nearest" });
    if (options[at]) field.setAttribute("aria-activedescendant", options[at].id);
    else field.removeAttribute("aria-activedescendant");
  }

  const look = asking((html, isLast) => {
    if (!isLast() || document.activeElement !== field) return;
    box.replaceChildren(parsed(html));
    const count = all().length;
    at = -1;
    box.hidden = count === 0;
    field.setAttribute("aria-expanded", String(count > 0));
    field.removeAttribute("aria-activedescendant");
    status.textContent = count ? `${count} ${status.dataset.words}` : "";
  });

  function ask(wait) {
    const typed = field.value.slice(0, field.selectionStart);
    const { filter, keys, store } = form.dataset;
    look(`${filter}?${queryOf(typed)}&keys=${encodeURIComponent(keys)}&store=${encodeURIComponent(store)}`, wait);
  }

  function take(option) {
    const rest = field.value.slice(field.selectionStart);
    const before = field.value.slice(0, Number(box.querySelector("[data-start]").dataset.start)) + option.dataset.text;
    field.value = before + rest.trimStart();
    field.setSelectionRange(before.length, before.length);
    close();
    ask(0);
  }

  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", box.id);
  field.setAttribute("aria-expanded", "false");
  field.addEventListener("input", () => ask());
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    const count = all().length;
    if (event.key in steps && box.hidden) ask(0);
    else if (event.key in steps) mark(((at < 0 && steps[event.key] < 0 ? 0 : at) + steps[event.key] + count) % count);
    else if (event.key === "Enter" && at >= 0 && !box.hidden) take(all()[at]);
    else if (event.key === "Escape") box.hidden ? form.focus() : close();
    else return;
    event.preventDefault();
  });
  box.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("[role=option]");
    if (option) take(option);
  });
}

// After filtering, the focus is at the filters that are on, from where `j` and `k` move through the list and Tab to the
// chips; the page is loaded again, and the focus would be lost.
const FILTERED = "memoryhub-filtered";
const filter = document.getElementById("filter");
if (filter?.dataset.filter) {
  completing(filter);
  const leave = () => sessionStorage.setItem(FILTERED, location.pathname);
  filter.addEventListener("submit", leave);
  document.addEventListener("click", (event) => event.target.closest?.("[data-chips] a") && leave());
  if (sessionStorage.getItem(FILTERED) === location.pathname) {
    (document.querySelector("[data-chips]") ?? filter).focus({ preventScroll: true });
  }
}
sessionStorage.removeItem(FILTERED);
