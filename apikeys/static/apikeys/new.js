// A double click must not send the form twice: only the first response shows the key.
"use strict";

document.querySelector("form.new-key").addEventListener("submit", (event) => {
  const form = event.currentTarget;
  if (form.dataset.sent) {
    event.preventDefault();
  }
  form.dataset.sent = "yes";
});
// A page from the back/forward cache can be sent again; the server then says that its key exists.
window.addEventListener("pageshow", () => {
  delete document.querySelector("form.new-key").dataset.sent;
});
