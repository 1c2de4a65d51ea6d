// The open conflicts of a merged text: between their markers in the editor, and above it as blocks with three sides.
// The markers are parsed as on the server; a conflict is settled once one of its markers is gone.

const SIGNS = ["<", "|", "=", ">"];

// Returns every conflict with all four markers, in order: its position and those of its sides.
export function conflictsIn(doc, mark) {
  const starts = SIGNS.map((sign) => sign.repeat(mark));
  const found = [];
  let marks = [];
  let at = 0;
  for (const text of doc.iterLines()) {
    const [word] = text.split(" ", 1);
    const line = { from: at, to: at + text.length };
    at = line.to + 1;
    if (word === starts[0]) marks = [line];
    else if (marks.length && word === starts[marks.length]) marks.push(line);
    if (marks.length < SIGNS.length) continue;
    found.push(conflictBetween(marks, doc.length));
    marks = [];
  }
  return found;
}

function conflictBetween([first, base, between, last], end) {
  return {
    from: first.from,
    to: Math.min(last.to + 1, end),
    marks: [first, base, between, last],
    mine: [first.to + 1, base.from],
    base: [base.to + 1, between.from],
    theirs: [between.to + 1, last.from],
  };
}

// Returns the text that replaces a conflict when a side is taken. A side without a final line feed at the end of the
// text keeps it so.
function textOf(doc, conflict, side, openEnds) {
  const slice = ([from, to]) => doc.sliceString(from, to);
  const text = side === "both" ? slice(conflict.theirs) + slice(conflict.mine) : slice(conflict[side]);
  const isLast = conflict.to === doc.length;
  return isLast && openEnds.includes(side === "both" ? "mine" : side) ? text.replace(/\n$/, "") : text;
}

// In the editor a conflict is identified by its start, also after an undo.
function tracking(cm, mark, Header) {
  const made = (doc, list, places) => ({ list, places, shown: decorations(cm, doc, list, Header) });
  return cm.StateField.define({
    create: ({ doc }) => {
      const list = conflictsIn(doc, mark).map((conflict, index) => ({ ...conflict, id: index + 1 }));
      return made(doc, list, new Map(list.map(({ id, from }) => [id, from])));
    },
    update: (value, { docChanged, changes, state }) => {
      if (!docChanged) return value;
      const left = new Set(value.list.map(({ id }) => id));
      const places = new Map([...value.places].map(([id, at]) => [id, changes.mapPos(at, left.has(id) ? 1 : -1)]));
      const ids = new Map([...places].map(([id, at]) => [at, id]));
      const list = conflictsIn(state.doc, mark).map((conflict) => ({ ...conflict, id: ids.get(conflict.from) ?? null }));
      return made(state.doc, list, places);
    },
    provide: (field) => cm.EditorView.decorations.from(field, ({ shown }) => shown),
  });
}

function decorations(cm, doc, list, Header) {
  const ranges = [];
  const line = (name, at) => ranges.push(cm.Decoration.line({ class: name }).range(at));
  for (const conflict of list) {
    ranges.push(cm.Decoration.widget({ widget: new Header(conflict.id), block: true, side: -1 }).range(conflict.from));
    for (const place of conflict.marks) line("cm-conflict-mark", place.from);
    for (const side of ["mine", "base", "theirs"]) {
      for (let at = conflict[side][0]; at < conflict[side][1]; at = doc.lineAt(at).to + 1) line(`cm-conflict-${side}`, at);
    }
  }
  return cm.Decoration.set(ranges, true);
}

// The buttons above a conflict in the text are for the mouse; the blocks above the editor offer the same to everyone.
function headerOf(cm, merge, take) {
  return class extends cm.WidgetType {
    constructor(id) {
      super();
      this.id = id;
    }

    eq(other) {
      return other.id === this.id;
    }

    ignoreEvent() {
      return true;
    }

    toDOM(view) {
      const bar = Object.assign(document.createElement("div"), { className: "cm-conflict-bar" });
      bar.setAttribute("aria-hidden", "true");
      for (const side of ["theirs", "mine", "both"]) {
        const label = merge.querySelector(`[data-merge-take="${side}"]`).textContent;
        const button = Object.assign(document.createElement("button"), { type: "button", tabIndex: -1, textContent: label });
        button.className = "button button-small";
        button.addEventListener("mousedown", (event) => event.preventDefault());
        button.addEventListener("click", () => take(view, (conflict) => conflict.from === view.posAtDOM(bar), side));
        bar.append(button);
      }
      return bar;
    }
  };
}

// The extensions for the editor of a conflict page, and the listener by which the page follows it.
export function conflicts(cm, form) {
  const merge = form.querySelector("[data-merge]");
  if (!merge) return { extensions: [], follow: () => {} };
  for (const only of form.querySelectorAll(".without-script")) only.remove();
  const openEnds = form.dataset.openEnds.split(" ");
  const taken = new Map();

  function take(view, is, side) {
    const conflict = view.state.field(field).list.find(is);
    if (!conflict) return;
    const insert = textOf(view.state.doc, conflict, side, openEnds);
    if (conflict.id !== null) taken.set(conflict.id, side);
    view.dispatch({ changes: { from: conflict.from, to: conflict.to, insert }, userEvent: "input.merge" });
  }

  function go(view, by) {
    const { list } = view.state.field(field);
    const at = view.state.selection.main.head;
    const conflict = by > 0 ? list.find(({ from }) => from > at) ?? list[0] : list.findLast(({ to }) => to <= at) ?? list.at(-1);
    if (conflict) show(cm, view, conflict);
    return conflict !== undefined;
  }

  const field = tracking(cm, Number(form.dataset.mark), headerOf(cm, merge, take));
  const keys = cm.keymap.of([{ key: "F7", run: (view) => go(view, 1), shift: (view) => go(view, -1) }]);
  const changed = cm.EditorView.updateListener.of(({ docChanged, state }) => docChanged && tell(merge, state.field(field).list, taken));
  const follow = (view) => listen(cm, view, form, merge, { field, take, go });
  return { extensions: [field, keys, changed], follow };
}

function show(cm, view, { from }) {
  view.dispatch({ selection: { anchor: from }, effects: cm.EditorView.scrollIntoView(from, { y: "center" }) });
  view.dom.scrollIntoView({ block: "nearest" });
  view.focus();
}

// Updates how many conflicts are left, and the state of each block.
function tell(merge, list, taken) {
  const blocks = [...merge.querySelectorAll("[data-merge-conflict]")];
  const output = merge.querySelector("[data-merge-left]");
  const all = Math.max(Number((output.dataset.all ??= output.textContent.match(/\d+/g).at(-1))), list.length);
  output.textContent = list.length ? merge.dataset.left.replace("{left}", list.length).replace("{all}", all) : merge.dataset.none;
  output.classList.toggle("merge-done", !list.length);
  for (const block of blocks) {
    const id = Number(block.dataset.mergeConflict);
    const left = list.some((conflict) => conflict.id === id);
    if (left === !block.hasAttribute("data-settled")) continue;
    block.toggleAttribute("data-settled", !left);
    block.open = left;
    const state = block.querySelector("[data-merge-state]");
    state.hidden = left;
    state.textContent = merge.dataset[{ theirs: "takenTheirs", mine: "takenMine", both: "takenBoth", base: "takenBase" }[taken.get(id)] ?? "settled"];
    if (left) taken.delete(id);
  }
}

function listen(cm, view, form, merge, { field, take, go }) {
  const listOf = () => view.state.field(field).list;
  merge.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const block = button?.closest("[data-merge-conflict]");
    const is = ({ id }) => id === Number(block?.dataset.mergeConflict);
    if (!button) return;
    if (button.dataset.mergeStep) go(view, Number(button.dataset.mergeStep));
    else if (button.dataset.mergeAll) while (listOf().length) take(view, () => true, button.dataset.mergeAll);
    else if (button.dataset.mergeTake) take(view, is, button.dataset.mergeTake), toNext(merge, block);
    else if ("roomShow" in button.dataset) listOf().filter(is).forEach((conflict) => show(cm, view, conflict));
  });
  const dialog = document.getElementById(form.dataset.asks);
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value === "save-marked" || !listOf().length || !dialog) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    dialog.showModal();
  });
  dialog?.querySelector("[data-go-on]").addEventListener("click", () => setTimeout(() => go(view, 1)));
  merge.toggleAttribute("data-ready", true);
}

// The focus moves to the next open block, or to the heading of the text.
function toNext(merge, block) {
  const left = [...merge.querySelectorAll("[data-merge-conflict]:not([data-settled])")];
  const next = left.find((other) => block.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) ?? left[0];
  (next?.querySelector("[data-merge-take]") ?? block.querySelector("summary")).focus();
}
