// Previews of restoring and undoing: the button says how many memories will change, and what is left out is sent in one
// field, since a server takes only so many.

const forms = () => document.querySelectorAll("form[data-undo]");

function changing(form) {
  const groups = new Set([...form.querySelectorAll("input[type=radio]")].map((radio) => radio.name));
  const left = form.querySelectorAll("input[name=leave_out]:checked").length;
  let count = Number(form.dataset.count) - left;
  for (const name of groups) {
    const chosen = form.querySelector(`input[type=radio][name="${CSS.escape(name)}"]:checked`);
    if (chosen && chosen.value !== "keep") count += Number(chosen.dataset.counts ?? 1);
  }
  return count;
}

function tell(form) {
  const button = form.querySelector("[data-undo-button]");
  if (!button) return;
  const count = changing(form);
  const label = count === 1 ? button.dataset.one : button.dataset.many.replace("#", String(count));
  button.querySelector("[data-undo-label]").textContent = label;
}

document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-undo]");
  if (form) tell(form);
});

document.addEventListener("formdata", ({ target, formData }) => {
  const left = target.matches?.("form[data-undo]") ? formData.getAll("leave_out") : [];
  if (left.length > 1) formData.set("leave_out", left.join(" "));
});

// Coming back by the browser's history, the boxes are as they were left.
addEventListener("pageshow", () => forms().forEach(tell));
