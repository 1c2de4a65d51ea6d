// Everything of CodeMirror that static/js/memories/editor.js uses, as one module. It uses `markdownLanguage` instead of
// `markdown()`, which would include HTML, CSS and JavaScript, a third of the total size.
export { EditorState, StateField } from "@codemirror/state";
export {
  Decoration,
  EditorView,
  WidgetType,
  drawSelection,
  dropCursor,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { HighlightStyle, LanguageSupport, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
export { markdownKeymap, markdownLanguage } from "@codemirror/lang-markdown";
export { json } from "@codemirror/lang-json";
export { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
export { MergeView, unifiedMergeView } from "@codemirror/merge";
export { tags } from "@lezer/highlight";
