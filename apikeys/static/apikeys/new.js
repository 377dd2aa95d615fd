// A double click must not send the form twice: the answer to the first one has the key.
"use strict";

document.querySelector("form.new-key").addEventListener("submit", (event) => {
  const form = event.currentTarget;
  if (form.dataset.sent) {
    event.preventDefault();
  }
  form.dataset.sent = "yes";
});
// A page that the back button brings out of the browser's memory can be sent again; the server
// then says that its key exists.
window.addEventListener("pageshow", () => {
  delete document.querySelector("form.new-key").dataset.sent;
});
