// Buttons that copy a text, forms that are sent once, and pages that stay up to date.
"use strict";

function copied(source) {
  window.getSelection().selectAllChildren(source);
  return document.execCommand("copy"); // of the two ways, this one needs no TLS
}

function offerCopies() {
  for (const text of document.querySelectorAll("code.copyable")) {
    const button = document.createElement("button");
    const ariaLabel = `Copy ${text.textContent}`;
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy", ariaLabel });
    button.addEventListener("click", () => {
      button.textContent = copied(text) ? "Copied" : "Selected";
    });
    text.after(button);
  }
}
offerCopies();

// A double click must not send such a form twice: only the first response shows the secret.
// A page from the back/forward cache can be sent again; the server then says that it was.
const once = document.querySelector("form[data-once]");
once?.addEventListener("submit", () => once.toggleAttribute("inert", true));
window.addEventListener("pageshow", () => once?.toggleAttribute("inert", false));

// While something is due, the page looks for it, for a minute; the start page and System look each
// minute for what is wrong. Both do so while the page is seen, and nobody does something in it.
const isSeen = () => !document.hidden && !document.querySelector("main :focus");

let looked = Date.now();
setInterval(async () => {
  const isOld = Date.now() > looked + 60000;
  if (!isSeen() || !document.querySelector(isOld ? "[data-each-minute]" : "[data-live]")) {
    return;
  }
  looked = isOld ? Date.now() : looked;
  const response = await fetch(location.href, { headers: { Unattended: "yes" } }).catch(() => null);
  const text = response?.ok && (await response.text());
  const page = new DOMParser().parseFromString(text || "", "text/html");
  if (response?.redirected || (text && page.title !== document.title)) {
    return location.reload(); // to sign in again, or to look at another workspace
  }
  if (text && isSeen() && (isOld || !text.includes("data-live"))) {
    const messages = document.querySelectorAll("#messages"); // the server says each once
    document.querySelector("main").replaceChildren(...messages, ...page.querySelector("main").children);
    localise();
    offerCopies();
  }
}, 2000);

// "/" leads to the search.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.querySelector(".find input[type=search]")?.focus();
  }
});
