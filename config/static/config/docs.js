"use strict";

// A class switches Swagger UI to its own dark theme.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Swagger UI fills in the examples of parameters: each request would be for a document that does
// not exist, with conditions and a range.
function withoutExamples(schema) {
  for (const { get } of Object.values(schema.paths ?? {})) {
    for (const parameter of get.parameters ?? []) {
      delete parameter.examples;
    }
  }
  return schema;
}
const read = (original) => (schema) => original(withoutExamples(schema));

SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#swagger",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  onComplete() {
    document.querySelector("#swagger main").role = "presentation"; // the page has one already
  },
  persistAuthorization: false, // do not store the key
  plugins: [{ statePlugins: { spec: { wrapActions: { updateJsonSpec: read } } } }],
  supportedSubmitMethods: ["get"],
  syntaxHighlight: { theme: "tomorrow-night" }, // the default's numbers are too faint
  tryItOutEnabled: true,
  validatorUrl: null, // do not send the document to an online validator
});
