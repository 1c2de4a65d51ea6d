// The page of the API: draws the OpenAPI document. Its colours are the hub's, in css/api/api.css.

const place = document.getElementById("api");

// The page has its own title, so only the description of Swagger UI's information block is drawn.
function description(_original, system) {
  const element = system.React.createElement;
  return function Description() {
    const Markdown = system.getComponent("Markdown", true);
    const text = element(Markdown, { source: system.specSelectors.info().get("description") });
    return element("div", { className: "info" }, element("div", { className: "description" }, text));
  };
}

function draw() {
  window.SwaggerUIBundle({
    domNode: place,
    url: place.dataset.document,
    layout: "BaseLayout",
    presets: [window.SwaggerUIBundle.presets.apis],
    plugins: [{ wrapComponents: { InfoContainer: description } }],
    validatorUrl: null,
    docExpansion: "list",
    defaultModelsExpandDepth: -1,
    syntaxHighlight: false,
    persistAuthorization: false,
  });
}

// Swagger UI draws some elements without an accessible name.
function name(control, text) {
  if (!control.hasAttribute("aria-label")) control.setAttribute("aria-label", text);
}

function nameAll() {
  for (const row of place.querySelectorAll("tr[data-param-name]")) {
    row.querySelectorAll("select, input, textarea").forEach((control) => name(control, row.dataset.paramName));
  }
  place.querySelectorAll(".opblock-section-request-body textarea").forEach((one) => name(one, place.dataset.bodyName));
  place.querySelectorAll(".close-modal").forEach((button) => name(button, place.dataset.closeName));
  place.querySelectorAll(".copy-to-clipboard button").forEach((button) => name(button, place.dataset.copyName));
  for (const table of place.querySelectorAll(".responses-table[role]")) {
    const operation = table.closest(".opblock").querySelector(".opblock-summary-control");
    name(table, `${place.dataset.answersName}: ${operation.getAttribute("aria-label") ?? operation.textContent}`);
  }
}

new MutationObserver(nameAll).observe(place, { childList: true, subtree: true });

if (window.SwaggerUIBundle) draw();
else window.addEventListener("load", draw);
