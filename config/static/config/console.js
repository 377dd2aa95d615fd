// Buttons that copy a text, forms that are sent once, and results that are waited for.
"use strict";

async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    window.getSelection().selectAllChildren(source); // without TLS there is only this way
    return document.execCommand("copy");
  }
}

for (const text of document.querySelectorAll("code.copyable")) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
  button.setAttribute("aria-label", `Copy ${text.textContent}`);
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text)) ? "Copied" : "Selected";
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
  window.addEventListener("pageshow", () => delete form.dataset.sent);
}

// While something is due, the page looks for its result, for a minute; then it shows it. The server
// says each message once, so that the page keeps them.
async function look(until) {
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const response = await fetch(location.href).catch(() => null);
    const known = response?.ok && !response.redirected && !(await response.text()).includes("data-live");
    const typing = document.activeElement.matches("input, select, textarea");
    if (known && !typing) {
      sessionStorage.setItem("messages", document.querySelector("#messages")?.outerHTML ?? "");
      return location.reload();
    }
  }
}
document.querySelector("main").insertAdjacentHTML("afterbegin", sessionStorage.getItem("messages") ?? "");
sessionStorage.removeItem("messages");
if (document.querySelector("[data-live]")) {
  look(Date.now() + 60000);
}

// "/" leads to the search.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.querySelector(".find input[type=search]")?.focus();
  }
});
