// Passkeys: the buttons that make one, sign in with one, and prove with one who is there.

async function send(url, form) {
  const token = document.querySelector("input[name=csrfmiddlewaretoken]").value;
  const answer = await fetch(url, { method: "POST", headers: { "X-CSRFToken": token }, body: new URLSearchParams(form) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.problem);
  return said;
}

async function go(button) {
  const { publicKey } = await send(button.dataset.begin, {});
  const isNew = button.dataset.passkey === "add";
  const credential = isNew
    ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) })
    : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
  const form = { answer: JSON.stringify(credential.toJSON()) };
  if (isNew) form.name = document.getElementById("passkey-name").value;
  else form.next = document.querySelector("input[name=next]")?.value ?? "";
  const { to } = await send(button.dataset.end, form);
  if (to) location.assign(to);
  else if (isNew) location.reload();
  else button.form.requestSubmit(button.form.querySelector("[data-goes-on]"));
}

for (const button of document.querySelectorAll("[data-passkey]")) {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) continue;
  button.closest("[data-passkeys]").hidden = false;
  button.addEventListener("click", async () => {
    const problem = button.closest("[data-passkeys]").querySelector("[role=alert]");
    problem.textContent = "";
    button.disabled = true;
    try {
      await go(button);
    } catch (error) {
      if (error.name !== "NotAllowedError" && error.name !== "AbortError") problem.textContent = error.message;
    }
    button.disabled = false;
  });
}
