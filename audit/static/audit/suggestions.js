// Suggests workspaces while the user types a name: the field's list is filled from the server.
"use strict";

const PAUSE = 200; // milliseconds after the last key

for (const input of document.querySelectorAll("input[data-suggestions]")) {
  const list = document.getElementById(input.getAttribute("list"));
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const term = input.value.trim();
      if (!term) {
        return;
      }
      const response = await fetch(`${input.dataset.suggestions}?${new URLSearchParams({ term })}`);
      if (response.ok && input.value.trim() === term) {
        const { suggestions } = await response.json();
        list.replaceChildren(...suggestions.map((text) => new Option("", text)));
      }
    }, PAUSE);
  });
}
