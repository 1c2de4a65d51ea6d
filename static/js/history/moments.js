// Previews of restoring and undoing: the summary and the button follow the choices. The excluded items are sent in one
// field, because a server limits the number of fields.

// What readers of the lines wrote is chosen with `then-` fields, which load the preview again.
const CHOICES = 'input[type=radio]:not([name^="then-"])';

const forms = () => document.querySelectorAll("form[data-undo]");

function changing(form) {
  const groups = new Set([...form.querySelectorAll(CHOICES)].map((radio) => radio.name));
  const left = form.querySelectorAll("input[name=leave_out]:checked").length;
  let count = Number(form.dataset.count) - left;
  for (const name of groups) {
    const chosen = form.querySelector(`input[type=radio][name="${CSS.escape(name)}"]:checked`);
    if (chosen && chosen.value !== "keep") count += Number(chosen.dataset.counts ?? 1);
  }
  return count;
}

function effects(form) {
  const counted = {};
  const add = (told, sign) => {
    for (const effect of (told ?? "").split(" ").filter(Boolean)) {
      const [kind, count] = effect.split(":");
      counted[kind] = (counted[kind] ?? 0) + sign * Number(count);
    }
  };
  add(form.dataset.effects, 1);
  form.querySelectorAll("input[name=leave_out]:checked").forEach((box) => add(box.dataset.effects, -1));
  form.querySelectorAll("input[type=radio]:checked").forEach((radio) => add(radio.dataset.effects, 1));
  return counted;
}

// Return whether a choice differs from the page's proposal.
const isChosen = (form) =>
  [...form.querySelectorAll(`${CHOICES}, input[name=leave_out]`)].some((box) => box.checked !== box.defaultChecked);

function tellSummary(form, count) {
  const summary = document.querySelector(".undo-summary");
  if (!summary) return;
  const lead = summary.querySelector("[data-undo-as]");
  const counted = effects(form);
  lead.dataset.undoProposed ??= lead.textContent;
  lead.textContent = isChosen(form) ? lead.dataset.undoAs : lead.dataset.undoProposed;
  for (const item of summary.querySelectorAll("[data-undo-effect]")) {
    const number = counted[item.dataset.undoEffect] ?? 0;
    item.hidden = number === 0;
    item.firstElementChild.textContent = number === 1 ? item.dataset.one : item.dataset.many.replace("#", number);
  }
  summary.querySelector("[data-undo-nothing]").hidden = count !== 0;
}

function tell(form) {
  const count = changing(form);
  tellSummary(form, count);
  const button = form.querySelector("[data-undo-button]");
  if (!button) return;
  const { none, one, many } = button.dataset;
  const label = count === 0 ? none : count === 1 ? one : many.replace("#", String(count));
  button.querySelector("[data-undo-label]").textContent = label;
  button.disabled = count === 0 && "idle" in button.dataset;
}

// A memory is left out when the last of its changes is: both ways to say so agree.
function agree(box) {
  const memory = box.closest(".undo-change");
  const leave = memory?.querySelector("input[name=leave_out]");
  const changes = [...(memory?.querySelectorAll("input[name=take]") ?? [])];
  if (!leave || !changes.length) return;
  const isTaken = changes.some((change) => change.checked);
  if (box.name === "take") leave.checked = !isTaken;
  if (box === leave && !leave.checked && !isTaken) for (const change of changes) change.checked = true;
}

document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-undo]");
  if (!form) return;
  agree(event.target);
  tell(form);
});

document.addEventListener("formdata", ({ target, formData }) => {
  const left = target.matches?.("form[data-undo]") ? formData.getAll("leave_out") : [];
  if (left.length > 1) formData.set("leave_out", left.join(" "));
});

// When the page comes back from the browser's history, the boxes keep their state.
addEventListener("pageshow", () => forms().forEach(tell));
document.addEventListener("htmx:afterSettle", () => forms().forEach(tell));
