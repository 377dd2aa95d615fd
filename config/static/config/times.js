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
    time.textContent = own;
    time.title = utc;
    if (own !== utc && time.closest(".fields, .facts, .timeline")) {
      const beside = document.createElement("span");
      beside.className = "beside";
      beside.textContent = `(${utc})`;
      time.after(" ", beside);
    }
  } else {
    if (/^\d\d:/.test(time.textContent)) {
      time.textContent = own.slice(11, 19); // otherwise "3 hours ago"
    }
    time.title = own === utc ? utc : `${own}, ${utc}`;
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

const toMinutes = (moment) => moment.toISOString().slice(0, 16);

// What a field shows of a time in UTC; "" if the text is none.
function ownTime(text) {
  const moment = new Date(`${text}Z`);
  const own = new Date(moment - moment.getTimezoneOffset() * 60_000);
  return Number.isNaN(own.valueOf()) ? "" : toMinutes(own);
}

for (const input of document.querySelectorAll("input[type=datetime-local]")) {
  input.value = ownTime(input.defaultValue);
  document.getElementById(`${input.id}_helptext`).textContent = ZONE;
  input.form.addEventListener("formdata", ({ formData }) => {
    if (input.value) {
      formData.set(input.name, toMinutes(new Date(input.value)));
    }
  });
}
