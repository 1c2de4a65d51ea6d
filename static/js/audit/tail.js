// Shows new rows of a list without moving the page: [data-tail] asks every few seconds while the page is visible. New
// rows are inserted only while the reader is at the top of the list and is not using it; otherwise a link shows their
// number. [data-news] asks in the same way what has changed meanwhile; the editor asks more often, every [data-every] ms.

const TAIL_EVERY = 4000;
const NEWS_EVERY = 15000;
const SLOWEST = 120000;
const MOST_ROWS = 500;

// Calls `ask` repeatedly: after a longer pause for each failure, one call at a time, and not while the page is hidden.
function poll(every, ask, tell = () => {}) {
  let wait = every;
  let timer = null;
  let paused = false;
  let asking = false;
  const idle = () => paused || document.hidden;
  const plan = (after) => {
    clearTimeout(timer);
    if (!idle()) timer = setTimeout(run, after);
  };
  async function run() {
    if (asking || idle()) return;
    asking = true;
    try {
      await ask();
      wait = every;
      tell("live");
    } catch {
      wait = Math.min(wait * 2, SLOWEST);
      tell("broken");
    }
    asking = false;
    plan(wait);
  }
  document.addEventListener("visibilitychange", () => plan(0));
  window.addEventListener("pageshow", ({ persisted }) => persisted && plan(0));
  return { start: run, pause: (on) => ((paused = on), tell(on ? "paused" : "live"), plan(0)) };
}

// Returns the headers and the content, which is null for 204. A redirect, as after signing out, is a failure and not followed.
async function fetchPart(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, redirect: "manual" });
  if (!answer.ok) throw new Error(String(answer.status));
  const part = document.createElement("template");
  if (answer.status !== 204) part.innerHTML = await answer.text();
  return { headers: answer.headers, part: answer.status === 204 ? null : part.content };
}

function withQuery(address, values) {
  const url = new URL(address, location.href);
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  return url;
}

function tail(box) {
  const state = box.querySelector("[data-tail-state]");
  const button = box.querySelector("[data-tail-pause]");
  const link = box.querySelector("[data-tail-show]");
  const address = link.getAttribute("href");
  const list = box.dataset.listOf ? document.querySelector(box.dataset.listOf) : null;
  let after = box.dataset.after;
  let rows = [];
  let next = "";
  let paused = false;

  // Returns whether new rows would move something that the person reads, points at or has selected.
  const edge = () => Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingBlockStart) || 0;
  const beneathEdge = () => list.closest("table").getBoundingClientRect().top - edge();
  const inUse = () => {
    const place = list.closest("table");
    const chosen = getSelection();
    return beneathEdge() < -1 || place.matches(":hover") || place.contains(document.activeElement)
      || list.querySelector(":checked") !== null || (chosen && !chosen.isCollapsed && list.contains(chosen.anchorNode));
  };

  function insert() {
    list.prepend(...rows);
    after = next;
    rows = [];
    link.hidden = true;
    document.dispatchEvent(new CustomEvent("tail:rows", { detail: { list } }));
  }

  async function ask() {
    const from = after;
    const { headers, part } = await fetchPart(withQuery(box.dataset.tail, { after, ...(list ? {} : { brief: 1 }) }));
    if (paused || after !== from) return; // the link was followed while the answer was on its way: it has the same rows
    if (!part) {
      if (after === "" || link.hidden) after = headers.get("Tail-After") ?? after;
      return;
    }
    rows = [...part.querySelectorAll("tbody > tr")];
    next = headers.get("Tail-After");
    const count = headers.get("Tail-Count");
    if (list && rows.length && !count.endsWith("+") && list.childElementCount < MOST_ROWS && !inUse()) return insert();
    const text = part.querySelector("a").textContent;
    if (link.textContent !== text) link.textContent = text;
    link.href = address.replace("{first}", headers.get("Tail-First") ?? "");
    link.hidden = false;
  }

  const polling = poll(TAIL_EVERY, ask, (now) => {
    if (paused && now !== "paused") return;
    box.dataset.now = now;
    state.textContent = state.dataset[now];
  });
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? button.dataset.resume : button.dataset.pause;
    polling.pause(paused);
  });
  // On request the rows are inserted at once, and the first of them gets the focus.
  link.addEventListener("click", (event) => {
    if (!rows.length || !list || link.textContent.includes("+") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const first = rows[0];
    insert();
    if (beneathEdge() < 0) window.scrollBy({ top: beneathEdge() - box.offsetHeight });
    first.querySelector("a")?.focus({ preventScroll: true });
  });
  polling.start();
}

function news(box) {
  let told = "";
  poll(Number(box.dataset.every ?? NEWS_EVERY), async () => {
    const { part } = await fetchPart(box.dataset.news);
    const text = part?.textContent ?? "";
    if (text === told) return;
    told = text;
    box.replaceChildren(...(part ? [part] : []));
  }).start();
}

for (const box of document.querySelectorAll("[data-tail]")) tail(box);
for (const box of document.querySelectorAll("[data-news]")) news(box);
