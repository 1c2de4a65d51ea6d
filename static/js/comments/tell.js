// A name chosen beside a comment goes into its text after an @: select[data-tell].

const offerNames = () => document.querySelectorAll("select[data-tell]").forEach((names) => (names.hidden = false));

document.addEventListener("DOMContentLoaded", offerNames);
document.addEventListener("htmx:load", offerNames);
document.addEventListener("change", ({ target }) => {
  if (!target.matches?.("select[data-tell]") || !target.value) return;
  const text = target.closest(".thread-form, form").querySelector("textarea");
  const { selectionStart: at, selectionEnd: end } = text;
  const gap = at && !/\s/.test(text.value[at - 1]) ? " " : "";
  text.setRangeText(`${gap}@${target.value} `, at, end, "end");
  target.value = "";
  text.focus();
});
