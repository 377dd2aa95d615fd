"use strict";

// The reader's key is in this variable only: it is not stored, not in a URL, and gone with the page.
let key = "";
let documentId = ""; // the newest complete document of the reader's workspace
let shown = location.pathname + location.search;
let whenEntered = () => {};

const dialog = document.querySelector("dialog");
const keyButton = document.getElementById("key");
const LANGUAGE = "docs-language";
// Headers that tell something about the response.
const HEADERS = /^(content-(disposition|range)|error-code|etag|link|ratelimit$|re[pqt]|searched)/;

const TOKEN = RegExp(
  [
    /(?<comment>(?<=^|\s)(?:#|\/\/) .*)/,
    /(?<string>"[^"\n]*"|'[^'\n]*'|`[^`]*`)/,
    /(?<word>\b(?:async|await|class|const|def|do|except|export|for|from|function|if|import|in|let|new|of|return|throw|try|while|with)\b)/,
  ].map((each) => each.source).join("|"),
  "gm",
);

// Colours the code: `::highlight` needs no elements of its own.
function colour() {
  if (!CSS.highlights) return;
  const found = { comment: new Highlight(), string: new Highlight(), word: new Highlight() };
  for (const { firstChild: text } of document.querySelectorAll(".sample pre code")) {
    for (const match of text?.data.matchAll(TOKEN) ?? []) {
      const name = Object.keys(found).find((each) => match.groups[each]);
      const range = new Range();
      range.setStart(text, match.index);
      range.setEnd(text, match.index + match[0].length);
      found[name].add(range);
    }
  }
  for (const [name, highlight] of Object.entries(found)) CSS.highlights.set(name, highlight);
}

function request(path, headers = {}) {
  headers = { ...headers, Authorization: `Bearer ${key}` };
  return fetch(path, { headers, cache: "no-store" });
}

async function useKey(entered) {
  if (!/^dtd_[!-~]+$/.test(entered)) throw new Error("A key begins with dtd_ and has no spaces.");
  key = entered;
  try {
    const response = await request("/api/v1/me");
    const body = await response.json();
    if (!response.ok) throw new Error(body.error);
    keyButton.textContent = `Key of ${body.data.workspace.name}`;
    const page = await (await request("/api/v1/documents?status=COMPLETED&limit=1")).json();
    documentId = page.data?.[0]?.id ?? "";
  } catch (error) {
    key = "";
    throw error;
  }
}

// Sends a request, and shows its response in `area`.
async function send(area, path, headers) {
  const [output, code] = area.querySelectorAll("output, code");
  output.value = "…";
  const started = performance.now();
  try {
    const response = await request(path, headers);
    const lines = [...response.headers].filter(([name]) => HEADERS.test(name));
    const head = lines.map(([name, value]) => `${name}: ${value}`);
    output.value = `${response.status}, ${Math.round(performance.now() - started)} ms`;
    code.textContent = [`HTTP ${response.status}`, ...head, "", await bodyOf(response, output)].join("\n");
  } catch (error) {
    output.value = `No response: ${error.message}`;
  }
  colour();
}

async function bodyOf(response, output) {
  if (response.headers.get("Content-Type") === "application/pdf") {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = "document.pdf";
    link.textContent = "Save the PDF";
    output.append(", ", link);
    return "%PDF …";
  }
  const text = await response.text();
  return text && JSON.stringify(JSON.parse(text), null, 2);
}

function ask(action) {
  whenEntered = action;
  dialog.showModal();
}

function withKey(action) {
  if (key) action();
  else ask(action);
}

// The path and headers of the form's request; fields without a value are left out.
function filledIn(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = {};
  for (const [name, value] of new FormData(form)) {
    const place = form.elements[name].dataset.in;
    if (!value) continue;
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (place === "query") query.append(name, value);
    else headers[name] = value;
  }
  return [query.size ? `${path}?${query}` : path, headers];
}

function showCurl(form) {
  const [path, headers] = filledIn(form);
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\\n`);
  document.querySelector("#content .curl code").textContent =
    `curl -H "Authorization: Bearer $DTD_API_KEY" \\\n${lines.join("")}  ${quoted(location.origin + path)}`;
  choose("curl");
  colour();
}

function choose(language) {
  for (const input of document.querySelectorAll("[data-language]")) {
    if (input.dataset.language === language) input.checked = true;
  }
}

function fillIn() {
  const field = document.querySelector('[form="try"][name="id"]');
  if (field) field.value ||= documentId;
  colour();
}

function go(path) {
  history.pushState(null, "", path);
  visit(path);
}

// With a key, a link shows its page without leaving this one, which has the key.
async function visit(path) {
  const response = await fetch(path);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  document.title = page.title;
  for (const id of ["menu", "content"]) {
    document.getElementById(id).replaceWith(page.getElementById(id));
  }
  shown = path;
  prepare();
  document.getElementById("content").focus({ preventScroll: true });
  scrollTo(0, 0);
}

// For the page that is shown, also if it was visited.
function prepare() {
  document.documentElement.classList.add("with-script");
  for (const button of document.querySelectorAll(".run, #key")) button.hidden = false;
  for (const button of document.querySelectorAll(".copy")) button.hidden = !navigator.clipboard;
  try {
    choose(localStorage.getItem(LANGUAGE));
  } catch {} // the browser stores nothing
  fillIn();
  document.querySelector("#menu [aria-current]")?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="/api/docs"]');
  if (link && key && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    go(link.pathname);
  }
  const button = event.target.closest("button");
  if (!button) return;
  const sample = button.closest(".sample");
  if (button.matches(".copy")) {
    const code = [...sample.querySelectorAll("fieldset pre")].find((pre) => pre.checkVisibility());
    navigator.clipboard.writeText(code.innerText).then(() => {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  } else if (button.matches(".run")) {
    const form = document.getElementById("try");
    if (form) form.requestSubmit();
    else withKey(() => {
      const area = button.closest(".response");
      send(area, area.dataset.path.replace("{id}", documentId || "unknown"));
    });
  } else if (button === keyButton) ask(() => {});
  else if (button.matches(".cancel")) dialog.close();
});

document.addEventListener("submit", async (event) => {
  const isSearch = event.target.matches("[role=search]");
  if (isSearch && !key) return; // the browser opens the results
  event.preventDefault();
  if (isSearch) {
    go(`${event.target.action}?${new URLSearchParams(new FormData(event.target))}`);
    return;
  }
  if (event.target.matches("#try")) { // its `id` is the field of that name
    withKey(() => send(document.querySelector(".response"), ...filledIn(event.target)));
    return;
  }
  const alert = dialog.querySelector("[role=alert]");
  const field = dialog.querySelector("input");
  try {
    await useKey(field.value.trim());
    field.value = alert.textContent = "";
    dialog.close();
    fillIn();
    whenEntered();
  } catch (error) {
    alert.textContent = error.message;
  }
});

function note({ target }) {
  if (target.form?.matches("#try")) showCurl(target.form);
  if (!target.dataset.language) return;
  choose(target.dataset.language);
  try {
    localStorage.setItem(LANGUAGE, target.dataset.language);
  } catch {} // the browser stores nothing
}
document.addEventListener("input", note);
document.addEventListener("change", note);

addEventListener("popstate", () => {
  const path = location.pathname + location.search;
  if (path !== shown) visit(path);
});

prepare();
