"use strict";

// Swagger UI has a dark theme of its own, told by a class.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Swagger UI fills examples of parameters in: each request would be for another document, and for
// a part of it under conditions.
function withoutExamples(description) {
  for (const { get } of Object.values(description.paths ?? {})) {
    for (const parameter of get.parameters ?? []) {
      delete parameter.examples;
    }
  }
  return description;
}
const read = (original) => (description) => original(withoutExamples(description));

SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#swagger",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  onComplete() {
    document.querySelector("#swagger main").role = "presentation"; // the page has one already
  },
  persistAuthorization: false, // a key that was tried is gone with the page
  plugins: [{ statePlugins: { spec: { wrapActions: { updateJsonSpec: read } } } }],
  supportedSubmitMethods: ["get"],
  syntaxHighlight: { theme: "tomorrow-night" }, // the default's numbers are too faint
  tryItOutEnabled: true,
  validatorUrl: null, // asks nobody else whether the description is valid
});
