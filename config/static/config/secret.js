// Copies what a page shows once, and forgets it when the page is left.
"use strict";

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const done = copied(document.getElementById(button.dataset.copy));
    document.getElementById("copied").textContent = done
      ? `${button.dataset.what} copied.`
      : "Your browser did not let the page copy. Copy the selected text.";
  });
}

// The next thing to do, for those who use the keyboard.
document.querySelector("button[data-copy]")?.focus();

// A browser may keep the page in memory for its back and forward buttons; without the secret, then.
window.addEventListener("pagehide", () => {
  for (const secret of document.querySelectorAll(".secret")) {
    secret.textContent = "It cannot be shown again.";
  }
});
