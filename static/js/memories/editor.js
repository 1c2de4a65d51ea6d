// Turns a <textarea data-editor> into an editor. The form still sends the textarea, which works alone without this
// script.

const nonce = document.querySelector('meta[name="csp-nonce"]')?.nonce ?? "";
const WIDE = "(min-width: 56.25rem)"; // in a narrower window two texts do not fit side by side

// In addition to CodeMirror's list: blanks and fillers, joiners and selectors outside emoji and letters, tags.
const HIDDEN = new RegExp(
  "[\\u00a0\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u2000-\\u200a\\u202a-\\u202c\\u202f\\u205f-\\u2065\\u2068\\u206a-\\u206f" +
    "\\u2800\\u3164\\uffa0\\ufff0-\\ufff8\\u{e0000}-\\u{e0fff}]" +
    "|(?<![\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{L}\\p{M}\\ufe0f0-9#*])[\\u200c\\u200d\\ufe00-\\ufe0f]",
  "u",
);

function shownCharacter(code, description) {
  const box = Object.assign(document.createElement("span"), { className: "hidden-character" });
  box.textContent = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  box.title = description;
  box.setAttribute("aria-label", description);
  return box;
}

function look(cm) {
  const { tags } = cm;
  const theme = cm.EditorView.theme({
    "&": { backgroundColor: "transparent", color: "var(--text)", fontSize: "var(--text-sm)" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6" },
    ".cm-content": { padding: "var(--space-2) 0", caretColor: "var(--text)" },
    ".cm-line": { padding: "0 var(--space-3) 0 var(--space-2)" },
    ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
    ".cm-gutters": { backgroundColor: "transparent", color: "var(--text-muted)", border: "none" },
    ".cm-lineNumbers .cm-gutterElement": { padding: "0 0.75em", minWidth: "3.25em" },
    ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--text) 4%, transparent)" },
    ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
      background: "color-mix(in srgb, var(--accent) 24%, transparent)",
    },
    ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--accent) 14%, transparent)" },
    ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
    ".cm-searchMatch": { backgroundColor: "var(--line-mark)", outline: "1px solid var(--line-mark-edge)" },
    ".cm-searchMatch-selected": { backgroundColor: "var(--warning-border)" },
    ".cm-panels": { backgroundColor: "var(--surface-sunken)", color: "var(--text)", border: "none" },
    ".cm-panels-top": { borderBottom: "1px solid var(--border)" },
    ".cm-panel.cm-search": { padding: "var(--space-2) var(--space-3)", fontFamily: "var(--font-ui)" },
    ".cm-panel.cm-search label": { fontSize: "var(--text-xs)" },
    ".cm-textfield": { display: "inline-block", width: "12rem", minHeight: "1.75rem", fontSize: "var(--text-sm)",
      border: "1px solid var(--border-strong)", backgroundColor: "var(--surface)" },
    ".cm-panel.cm-search input[type=checkbox]": { width: "1rem", verticalAlign: "-0.15rem" },
    ".cm-button": { backgroundImage: "none", backgroundColor: "var(--surface)", border: "1px solid var(--border)",
      borderRadius: "var(--radius)", minHeight: "1.75rem", fontSize: "var(--text-xs)" },
    ".cm-panel.cm-search [name=close]": { color: "var(--text-muted)", width: "1.5rem", height: "1.5rem" },
    "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--removed-bg)" },
    "&.cm-merge-b .cm-changedLine": { backgroundColor: "var(--added-bg)" },
    "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": { background: "var(--removed-mark)" },
    "&.cm-merge-b .cm-changedText": { background: "var(--added-mark)" },
    "&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter": { backgroundColor: "var(--removed-text)" },
    "&.cm-merge-b .cm-changedLineGutter": { backgroundColor: "var(--added-text)" },
    ".cm-changedText span, .cm-deletedText span": { color: "var(--text)" },
    ".cm-conflict-bar": { display: "flex", flexWrap: "wrap", gap: "var(--space-1)", padding: "var(--space-1) var(--space-2)",
      backgroundColor: "var(--surface-sunken)", borderBlockStart: "1px solid var(--warning-border)", fontFamily: "var(--font-ui)" },
    ".cm-conflict-mark": { backgroundColor: "var(--warning-bg)", color: "var(--warning-text)" },
    ".cm-conflict-mark span": { color: "inherit" },
    ".cm-conflict-mine": { backgroundColor: "var(--accent-soft)" },
    ".cm-conflict-base": { backgroundColor: "var(--surface-sunken)" },
    ".cm-conflict-theirs": { backgroundColor: "var(--info-bg)" },
  });
  const colours = cm.HighlightStyle.define([
    { tag: tags.heading, fontWeight: "650" },
    { tag: tags.strong, fontWeight: "650" },
    { tag: tags.emphasis, fontStyle: "italic" },
    { tag: tags.strikethrough, textDecoration: "line-through" },
    { tag: [tags.link, tags.url], color: "var(--code-type)" },
    { tag: [tags.monospace, tags.string], color: "var(--code-string)" },
    { tag: [tags.processingInstruction, tags.contentSeparator, tags.comment, tags.quote], color: "var(--code-comment)" },
    { tag: tags.propertyName, color: "var(--code-name)" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
    { tag: tags.invalid, color: "var(--code-error)" },
  ]);
  return [theme, cm.syntaxHighlighting(colours)];
}

function language(cm, name) {
  if (name === "json") return [cm.json()];
  if (name !== "markdown") return [];
  return [new cm.LanguageSupport(cm.markdownLanguage), cm.keymap.of(cm.markdownKeymap)];
}

// Markdown would parse the markers of conflicts as headings.
const marked = (form) => Number(form?.dataset.mark) > 0;

// Extensions shared by a single editor and both sides of a merge.
function reading(cm, textarea) {
  return [
    cm.EditorView.cspNonce.of(nonce),
    cm.EditorState.phrases.of(JSON.parse(textarea.dataset.phrases ?? "{}")),
    cm.lineNumbers(),
    cm.EditorView.lineWrapping,
    cm.drawSelection(),
    cm.highlightSpecialChars({ addSpecialChars: HIDDEN, render: shownCharacter }),
    marked(textarea.form) ? [] : language(cm, textarea.dataset.language),
    look(cm),
  ];
}

// When text is typed over a selection, the browser keeps the replaced style in a style attribute, which the page's
// policy refuses; so the editor replaces the selection itself.
function typeOver(event, view) {
  const { inputType, data, isComposing } = event;
  if (inputType !== "insertText" || !data || isComposing || view.state.readOnly || view.state.selection.main.empty) return false;
  view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

function writing(cm, textarea) {
  const label = document.querySelector(`label[for="${CSS.escape(textarea.id)}"]`);
  const keep = (update) => {
    if (!update.docChanged) return;
    textarea.value = update.state.doc.toString();
    textarea.dispatchEvent(new Event("input", { bubbles: true }));
  };
  return [
    reading(cm, textarea),
    cm.history(),
    cm.dropCursor(),
    cm.bracketMatching(),
    cm.indentOnInput(),
    cm.highlightActiveLine(),
    cm.highlightActiveLineGutter(),
    cm.highlightSelectionMatches(),
    cm.search({ top: true }),
    cm.keymap.of([...cm.defaultKeymap, ...cm.historyKeymap, ...cm.searchKeymap, cm.indentWithTab]),
    cm.EditorView.domEventHandlers({ beforeinput: typeOver }),
    cm.EditorView.updateListener.of(keep),
    cm.EditorView.contentAttributes.of(attributes(textarea, label)),
    textarea.readOnly ? cm.EditorState.readOnly.of(true) : [],
  ];
}

function attributes(textarea, label) {
  const names = { "aria-multiline": "true", spellcheck: "false", tabindex: "0" };
  if (label?.id) names["aria-labelledby"] = label.id;
  const described = textarea.getAttribute("aria-describedby");
  if (described) names["aria-describedby"] = described;
  if (textarea.getAttribute("aria-invalid") === "true") names["aria-invalid"] = "true";
  return names;
}

// A read-only text beside the editor's: a draft beside the page's text.
function compare(cm, textarea, { parent, text, labels }) {
  const side = (doc, label) => ({
    doc,
    extensions: [reading(cm, textarea), cm.EditorState.readOnly.of(true), cm.EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" })],
  });
  const names = Object.assign(document.createElement("div"), { className: "editor-sides" });
  names.setAttribute("aria-hidden", "true");
  names.append(...labels.map((label) => Object.assign(document.createElement("span"), { textContent: label })));
  parent.replaceChildren(names);
  const wide = matchMedia(WIDE).matches;
  if (wide) return new cm.MergeView({ a: side(textarea.value, labels[0]), b: side(text, labels[1]), parent, collapseUnchanged: {} });
  const merged = cm.unifiedMergeView({ original: textarea.value, mergeControls: false });
  const { doc, extensions } = side(text, labels[1]);
  return new cm.EditorView({ doc, extensions: [extensions, merged], parent });
}

async function enhance(textarea) {
  textarea.dataset.enhanced = "yes";
  const cm = await import(textarea.dataset.bundle);
  const focused = document.activeElement === textarea || textarea.autofocus;
  const at = textarea.selectionStart;
  const parent = document.createElement("div");
  textarea.after(parent);
  const { conflicts } = textarea.form?.dataset.conflicts ? await import(textarea.form.dataset.conflicts) : {};
  const merge = conflicts?.(cm, textarea.form);
  const view = new cm.EditorView({ doc: textarea.value, extensions: [writing(cm, textarea), merge?.extensions ?? []], parent });
  merge?.follow(view);
  textarea.hidden = true;
  const label = document.querySelector(`label[for="${CSS.escape(textarea.id)}"]`);
  label?.addEventListener("click", () => view.focus());
  textarea.form?.addEventListener("reset", () => setTimeout(() => replace(view, textarea.value)));
  textarea.addEventListener("editor:replace", ({ detail }) => replace(view, detail));
  textarea.addEventListener("editor:compare", ({ detail }) => compare(cm, textarea, detail));
  if (!focused) return;
  view.focus();
  view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) } });
}

function replace(view, text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

function enhanceAll() {
  for (const textarea of document.querySelectorAll("textarea[data-editor]:not([data-enhanced])")) enhance(textarea);
}

document.addEventListener("htmx:load", enhanceAll);
enhanceAll();
