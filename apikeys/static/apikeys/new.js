// Helps with the form of a new key; the server decides.
"use strict";

const form = document.querySelector("form[data-once]");

// The day is only asked for if it is needed.
const day = form.elements.expires_on.closest(".field");
function showDay() {
  day.hidden = form.elements.expires.value !== "day";
  if (day.hidden) {
    form.elements.expires_on.value = "";
  }
}
form.elements.expires.addEventListener("change", showDay);
showDay();

// Another active key with this name.
const used = [...document.querySelectorAll("#names-in-use li")];
function showHint() {
  const name = form.elements.name.value.trim().toLowerCase();
  const workspace = form.elements.workspace?.value;
  document.getElementById("same-name").hidden = !used.some(
    (each) =>
      each.textContent.trim().toLowerCase() === name &&
      (!workspace || each.dataset.workspace === workspace),
  );
}
form.addEventListener("input", showHint);
showHint();
