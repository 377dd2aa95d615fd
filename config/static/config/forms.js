// A form that could not be sent is filled in again, after a new sign-in or if its token had expired.
// The fields wait in this tab; passwords, codes and keys never do.
"use strict";

const KEPT = "unsent-form";
const SECRET = /password|secret|token|code/i;
const KEY = /dtd_\w{12,}/;
const STOPS = "#login-form, #code-form, #form-expired";

const user = () => document.querySelector(".account")?.title;
const forms = () => [...document.querySelectorAll("main form[method=post]")];
const controls = (form) =>
  [...form.elements].filter(
    ({ name, type, value }) =>
      name && !["hidden", "password", "submit", "button"].includes(type)
      && !SECRET.test(name) && !KEY.test(value),
  );
const shape = (form) => controls(form).map(({ name }) => name).join();

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

const kept = read();
if (!document.querySelector(STOPS)) {
  sessionStorage.removeItem(KEPT);
  const same = kept && kept.path === location.pathname && kept.user === user();
  const form = same && kept.stopped && forms().find((each) => shape(each) === kept.shape);
  if (form) {
    controls(form).forEach((control, index) => {
      const [value, checked] = kept.values[index];
      if (["checkbox", "radio"].includes(control.type)) {
        control.checked = checked;
      } else {
        control.value = value;
      }
    });
    const note = document.createElement("p");
    note.className = "health warn";
    note.setAttribute("role", "status");
    note.textContent = "Nothing was sent. What you filled in is here again, without secrets: check it and send it.";
    form.prepend(note);
  }
  for (const each of forms()) {
    each.addEventListener("submit", () => {
      const values = controls(each).map(({ value, checked }) => [value, checked]);
      if (values.length) {
        const own = { path: location.pathname, user: user(), shape: shape(each), values };
        sessionStorage.setItem(KEPT, JSON.stringify(own));
      }
    });
  }
} else if (kept) {
  sessionStorage.setItem(KEPT, JSON.stringify({ ...kept, stopped: true }));
}
