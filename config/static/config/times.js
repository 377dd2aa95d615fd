// Times in the reader's own zone; UTC is in the tooltip, and beside them on the page of an object.
// Fields for times show the reader's zone too, and send UTC. Without this script all is UTC.
"use strict";

const LONG = { dateStyle: "short", timeStyle: "long" };
const inZone = (moment, zone) => moment.toLocaleString("sv", zone ? { ...LONG, timeZone: zone } : LONG);
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

for (const time of document.querySelectorAll("time[datetime]")) {
  const moment = new Date(time.dateTime);
  const own = inZone(moment);
  const utc = inZone(moment, "UTC");
  if (/^\d{4}-/.test(time.textContent)) {
    const beside = own !== utc && time.closest(".fields, .facts, .timeline");
    time.textContent = beside ? `${own} (${utc})` : own;
    time.title = utc;
  } else if (/^\d\d:/.test(time.textContent)) {
    time.textContent = own.slice(11, 19);
    time.title = own === utc ? utc : `${own}, ${utc}`;
  } else {
    time.title = own === utc ? utc : `${own}, ${utc}`; // "3 hours ago"
  }
}

// The days of a log are those of the reader.
const log = document.querySelector("div#result_list:has(.log)");
if (log && ZONE !== "UTC") {
  const days = document.createDocumentFragment();
  const heading = log.querySelector(".day");
  let day;
  for (const entry of [...log.querySelectorAll(".log > li")]) {
    const moment = new Date(entry.querySelector("time").dateTime);
    const format = { weekday: "long", day: "numeric", month: "long", year: "numeric" };
    const name = moment.toLocaleDateString("en-GB", format);
    if (name !== day) {
      day = name;
      const own = heading.cloneNode(true);
      own.firstChild.data = `${name} `;
      own.querySelector(".quiet").textContent = ZONE;
      const entries = document.createElement("ol");
      entries.className = "log";
      days.append(own, entries);
    }
    days.lastChild.append(entry);
  }
  log.replaceChildren(days);
}

// What a field for a time shows, from the reader's zone to UTC (1) or back (-1).
function moved(text, direction) {
  const moment = new Date(`${text}Z`);
  const offset = new Date(direction > 0 ? text : `${text}Z`).getTimezoneOffset();
  return new Date(moment.valueOf() + direction * offset * 60_000).toISOString().slice(0, 16);
}

for (const input of document.querySelectorAll("input[type=datetime-local]")) {
  input.value = input.defaultValue && moved(input.defaultValue, -1);
  document.getElementById(`${input.id}_helptext`).textContent = ZONE;
  input.form.addEventListener("formdata", ({ formData }) => {
    if (input.value) {
      formData.set(input.name, moved(input.value, 1));
    }
  });
}
