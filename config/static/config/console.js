// Buttons that copy a text, forms that are sent once, tabs that keep their workspace, and pages
// that stay up to date.
"use strict";

function offerCopies() {
  for (const text of document.querySelectorAll(".copyable")) {
    const button = document.createElement("button");
    const result = document.createElement("output");
    const { what, button: className = "copy" } = text.dataset;
    const textContent = what ? `Copy the ${what}` : "Copy";
    const ariaLabel = what ? textContent : `Copy ${text.textContent}`;
    Object.assign(button, { type: "button", className, textContent, ariaLabel });
    button.addEventListener("click", () => {
      window.getSelection().selectAllChildren(text);
      const isCopied = document.execCommand("copy"); // of the two ways, this one needs no TLS
      result.textContent = isCopied ? " Copied." : " Not copied: copy the selected text.";
    });
    text.after(button, result);
  }
}
offerCopies();

// A secret is copied next, also by the keyboard. It is not in the page that a browser keeps in memory
// for its back and forward buttons.
document.querySelector(".secret + button")?.focus();
window.addEventListener("pagehide", () => {
  for (const secret of document.querySelectorAll(".secret")) {
    secret.textContent = "It cannot be shown again.";
  }
});

// A double click must not send such a form twice: only the first response shows the secret.
// A page from the back/forward cache can be sent again; the server then says that it was.
const once = document.querySelector("form[data-once]");
once?.addEventListener("submit", () => once.toggleAttribute("inert", true));
window.addEventListener("pageshow", () => once?.toggleAttribute("inert", false));

// Each tab keeps the workspace that it shows: what is done in it is not of another tab's.
function keepWorkspace() {
  const shown = document.querySelector("[data-cookie]"); // of an admin of several
  if (shown) {
    document.cookie = shown.dataset.cookie;
  }
}
for (const event of ["pointerdown", "keydown", "beforeunload"]) {
  window.addEventListener(event, keepWorkspace, true);
}

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
  keepWorkspace();
  const response = await fetch(location.href, { headers: { Unattended: "yes" } }).catch(() => null);
  const text = response?.ok && (await response.text());
  const page = new DOMParser().parseFromString(text || "", "text/html");
  if (response?.redirected || (text && page.title !== document.title)) {
    return location.reload(); // to sign in again, or since the user is no admin of it any more
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
