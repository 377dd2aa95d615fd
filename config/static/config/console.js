// Times in the reader's own zone as tooltips, and buttons that copy a text.
"use strict";

for (const time of document.querySelectorAll("time[datetime]")) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.valueOf())) {
    const own = moment.toLocaleString([], { dateStyle: "medium", timeStyle: "long" });
    time.title = `${time.title ? `${time.title}, ` : ""}${own} in your time zone`;
  }
}

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
