// Times in the reader's own zone; UTC is in the tooltip, and beside them on the page of an object.
// The days of filters are of that zone too. Without this script all is UTC.
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
const first = document.querySelector(".log .day");
if (first && ZONE !== "UTC") {
  const days = [...document.querySelectorAll(".log .day")];
  let day;
  for (const row of document.querySelectorAll(".log .entry")) {
    const moment = new Date(row.querySelector("time").dateTime);
    const format = { weekday: "long", day: "numeric", month: "long", year: "numeric" };
    const name = moment.toLocaleDateString("en-GB", format);
    if (name !== day) {
      day = name;
      const own = first.cloneNode(true);
      own.firstElementChild.firstChild.data = `${name} `;
      own.querySelector(".quiet").textContent = ZONE;
      row.before(own);
    }
  }
  days.forEach((each) => each.remove());
}

// A URL that somebody has sent keeps its zone.
const zone = document.querySelector("input[name=zone]");
if (zone) {
  zone.value ||= ZONE;
  for (const name of ["since", "until"]) {
    document.querySelector(`input[name=${name}]`).title = zone.value;
  }
}
