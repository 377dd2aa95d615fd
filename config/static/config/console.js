// Buttons that copy a text, forms that are sent once, results, the header, filters, e-mails.
"use strict";

for (const text of document.querySelectorAll("code.copyable")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy ${text.textContent}`);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      window.getSelection().selectAllChildren(text); // the browser allows no more
    }
  });
  text.after(button);
}

// A double click must not send such a form twice: only the first response shows the secret.
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
    }
    form.dataset.sent = "yes";
  });
  // A page from the back/forward cache can be sent again; the server then says that it was.
  window.addEventListener("pageshow", () => {
    delete form.dataset.sent;
  });
}

// While something is due, the page looks for its result, for a minute; then it shows it.
async function look(until) {
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const response = await fetch(location.href).catch(() => null);
    if (!response?.ok || response.redirected) {
      continue;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const typing = document.activeElement?.matches("input, select, textarea");
    if (!page.querySelector("[data-live]") && !typing) {
      location.reload();
      return;
    }
  }
}
if (document.querySelector("[data-live]")) {
  look(Date.now() + 60000);
}

// "/" leads to the search, and Esc out of it.
document.addEventListener("keydown", (event) => {
  const search = document.querySelector(".find input[type=search]");
  const typing = event.target.closest("input, select, textarea, [contenteditable]");
  if (event.key === "/" && search && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape" && event.target === search) {
    search.blur();
  }
});

// On a phone the list comes before its filters.
const phone = window.matchMedia("(max-width: 47rem)");
function fold() {
  for (const filters of document.querySelectorAll(".narrowing, .list-filters details")) {
    const whole = filters.matches(".narrowing");
    if (phone.matches) {
      filters.open = filters.matches(":has([aria-invalid])") || (whole && location.search);
    } else if (whole) {
      filters.open = true;
    }
  }
}
fold();
phone.addEventListener("change", fold);

// E-mail addresses are wrapped at @ and dots only; those in tables and logs are not.
const WHOLE = "code, option, textarea, script, table, .log > li > span";
const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
const emails = [];
while (texts.nextNode()) {
  const text = texts.currentNode;
  if (/\S@\S/.test(text.data) && !text.parentElement.closest(WHOLE)) {
    emails.push(text);
  }
}
for (const text of emails) {
  const parts = text.data.split(/(?<=\S@)|(?=\.\w)/);
  text.replaceWith(...parts.flatMap((part) => [document.createElement("wbr"), part]).slice(1));
}
