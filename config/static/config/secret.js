// Copies a secret, and forgets it when the page is left. Nothing here talks to the network.
"use strict";

async function copied(text) {
  if (window.isSecureContext && navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not allowed here; the older way below may be.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    const done = await copied(source.textContent);
    document.getElementById("copied").textContent = done
      ? `${button.dataset.what} copied.`
      : "Your browser did not let the page copy. Select the text and copy it.";
    button.focus();
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
