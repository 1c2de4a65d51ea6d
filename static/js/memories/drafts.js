// Text typed in a memory's form survives a closed tab: it is stored in this browser and offered on return, but never
// inserted without asking. A draft's key names the person, the memory, the opened version and the page that wrote it,
// so no draft overwrites another.

const PREFIX = "memoryhub:draft:";
const SENT = "memoryhub:sent";
const SIGNED_OUT = "memoryhub:signed-out:";
const KEPT_FOR = 30 * 24 * 3600 * 1000;
const DELAY = 800;
const TYPED = ["text", "note", "path"];
const FIELDS = [...TYPED, "newlines", "version", "sha256", "opened", "mark", "open_ends"];

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value?.at === "number" && typeof value.text === "string" ? value : null;
  } catch {
    return null;
  }
}

// A browser may refuse to store anything; then there are no drafts.
function keysOf(prefix) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}

function draftsOf(prefix) {
  const found = keysOf(prefix).map((key) => ({ key, draft: parsed(localStorage.getItem(key)) }));
  return found.filter(({ draft }) => draft).sort((one, other) => other.draft.at - one.draft.at);
}

function forget(keys) {
  for (const key of keys) localStorage.removeItem(key);
}

function forgetOld() {
  const kept = (key) => (parsed(localStorage.getItem(key))?.at ?? 0) > Date.now() - KEPT_FOR;
  forget(keysOf(PREFIX).filter((key) => !kept(key)));
}

// ------------------------------------------------------------------------------------------------ signed out meanwhile

// Each sign-out stores another mark for its person. A page that finds a mark other than at its opening writes nothing
// any more, in whichever tab the person signed out. The mark is read before each write, so no event can be missed.
function signOutMark(person) {
  try {
    return localStorage.getItem(SIGNED_OUT + person);
  } catch {
    return null;
  }
}

function signOut(person) {
  forget(keysOf(`${PREFIX}${person}:`));
  try {
    localStorage.setItem(SIGNED_OUT + person, `${Date.now()}:${Math.random()}`);
  } catch {
    // If nothing can be stored there are no drafts.
  }
}

// ------------------------------------------------------------------------------------------------ saved or not

// A sent draft is kept until it is known to be saved: a page that comes back with the text has not saved it yet. The
// page to which saving leads deletes it.
function takeSent() {
  try {
    const text = sessionStorage.getItem(SENT);
    sessionStorage.removeItem(SENT);
    return text && JSON.parse(text);
  } catch {
    return null;
  }
}

function arrived({ from, to }) {
  const { pathname } = location;
  const came = document.referrer && new URL(document.referrer);
  return pathname.startsWith(to) && !pathname.endsWith("/edit") && came && came.origin === location.origin && came.pathname === from;
}

function rememberSent(keys, to) {
  try {
    sessionStorage.setItem(SENT, JSON.stringify({ keys, to, from: location.pathname }));
  } catch {
    // The draft is then offered again, unless the memory already has its text.
  }
}

// ------------------------------------------------------------------------------------------------ one form

const about = (form) => form.querySelector("[data-draft]").dataset;

function valuesOf(form, names) {
  const fields = names.map((name) => [name, form.elements[name]]).filter(([, field]) => field);
  return Object.fromEntries(fields.map(([name, field]) => [name, field.value]));
}

function keep(form, carried) {
  const opened = form.elements.version?.value ?? "";
  const own = `${PREFIX}${about(form).draft}:${opened}:${crypto.randomUUID?.() ?? `${Date.now()}${Math.random()}`}`;
  const first = JSON.stringify(valuesOf(form, TYPED));
  const state = form.querySelector("[data-draft-state]");
  const person = about(form).draft.split(":")[0];
  const mark = signOutMark(person);
  let timer = null;
  let unkept = false;

  function write() {
    clearTimeout(timer);
    timer = null;
    const typed = JSON.stringify(valuesOf(form, TYPED)) !== first;
    if (signOutMark(person) !== mark) {
      unkept = false;
      if (state) state.textContent = state.dataset.signedOut;
      return;
    }
    try {
      if (typed) localStorage.setItem(own, JSON.stringify({ at: Date.now(), number: about(form).draftNumber, ...valuesOf(form, FIELDS) }));
      else localStorage.removeItem(own);
      unkept = false;
    } catch {
      unkept = typed;
    }
    if (state) state.textContent = typed ? state.dataset[unkept ? "unkept" : "kept"] : "";
  }

  form.addEventListener("input", () => (timer ??= setTimeout(write, DELAY)));
  const now = () => timer && write();
  window.addEventListener("storage", ({ key }) => key === SIGNED_OUT + person && write());
  window.addEventListener("pagehide", now);
  document.addEventListener("visibilitychange", now);
  window.addEventListener("beforeunload", (event) => {
    now();
    if (unkept) event.preventDefault();
  });
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    write();
    unkept = false;
    rememberSent([...carried, own], about(form).draftSaved);
  });
  form.querySelector("[data-draft-drop]")?.addEventListener("click", () => forget([...carried, own]));
  return { own: [...carried, own], write };
}

// ------------------------------------------------------------------------------------------------ the offer

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

function ago(at) {
  const seconds = Math.max(0, (Date.now() - at) / 1000);
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ["minute", 60];
  const count = Math.max(1, Math.floor(seconds / size));
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
  return format.format(-count, unit);
}

function filled(template, { at, version, number, mark }, form) {
  const banner = template.content.firstElementChild.cloneNode(true);
  const when = banner.querySelector("[data-draft-when]");
  when.textContent = ago(at);
  when.dateTime = new Date(at).toISOString();
  when.title = new Date(at).toLocaleString(document.documentElement.lang);
  const note = banner.querySelector("[data-draft-about]");
  const changed = version && version !== form.elements.version?.value;
  const said = [Number(mark) > 0 ? template.dataset.conflict : "", changed ? template.dataset.changed : ""].filter(Boolean).join(" ");
  note.textContent = said.replace("{old}", number).replace("{new}", about(form).draftNumber);
  note.hidden = !said;
  return banner;
}

function restore(form, draft) {
  for (const name of FIELDS) if (name !== "text" && name in draft && form.elements[name]) form.elements[name].value = draft[name];
  const text = form.elements.text;
  text.value = draft.text;
  text.dispatchEvent(new CustomEvent("editor:replace", { detail: draft.text }));
  focusText(form);
}

function focusText(form) {
  (form.querySelector(".cm-content") ?? form.elements.text).focus();
}

function showComparison(button, banner, template, form, text) {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  banner.nextElementSibling?.matches(".draft-compared") && banner.nextElementSibling.remove();
  if (!open) return;
  const parent = Object.assign(document.createElement("div"), { className: "editor draft-compared" });
  banner.after(parent);
  const labels = [template.dataset.now, template.dataset.draft];
  form.elements.text.dispatchEvent(new CustomEvent("editor:compare", { detail: { parent, text, labels } }));
}

// A draft from before a redaction of the memory may contain the redacted text: it is deleted and not offered.
function forgetRedacted(form) {
  const { draft, draftRedacted } = about(form);
  if (!draftRedacted) return;
  const before = (kept) => kept.at < (Number(draftRedacted) + 1) * 1000;
  forget(draftsOf(`${PREFIX}${draft}:`).filter((kept) => before(kept.draft)).map(({ key }) => key));
}

function offer(template, form, kept) {
  const same = (draft) => draft.text === form.elements.text.value.replaceAll("\r\n", "\n");
  const others = draftsOf(`${PREFIX}${about(form).draft}:`).filter(({ key }) => !kept.own.includes(key));
  forget(others.filter(({ draft }) => same(draft)).map(({ key }) => key));
  const [first] = others.filter(({ draft }) => !same(draft));
  if (!first) return false;
  const banner = filled(template, first.draft, form);
  const box = Object.assign(document.createElement("div"), { className: "draft-box" });
  box.append(banner);
  template.after(box);
  banner.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-draft-do]");
    const act = button?.dataset.draftDo;
    if (act === "compare") return showComparison(button, banner, template, form, first.draft.text);
    if (!act) return;
    box.remove();
    if (act === "restore") {
      restore(form, first.draft);
      kept.write();
    }
    forget([first.key]);
    if (act === "discard" && !offer(template, form, kept)) focusText(form);
  });
  return true;
}

function start() {
  const sent = takeSent();
  const form = document.querySelector("form [data-draft]")?.closest("form");
  if (sent && !form && arrived(sent)) forget(sent.keys);
  forgetOld();
  if (!form) return;
  forgetRedacted(form);
  const kept = keep(form, sent?.keys ?? []);
  const template = document.querySelector("template[data-draft-offer]");
  if (template) offer(template, form, kept);
}

document.addEventListener("submit", ({ target }) => {
  if (target.dataset.signsOut) signOut(target.dataset.signsOut);
});
start();
