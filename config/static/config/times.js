// Times and the days of logs in the reader's own zone; UTC is in the tooltip.
"use strict";

const FORMAT = { dateStyle: "short", timeStyle: "long" };
const DAY = { weekday: "short", day: "numeric", month: "short", year: "numeric" };
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const inZone = (moment, timeZone) => moment.toLocaleString("sv", { ...FORMAT, timeZone });

function localise() {
  let day; // of the time before in a list, which says each day once
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    const own = inZone(moment, ZONE);
    time.title = inZone(moment, "UTC");
    if (time.matches(".line > li > :first-child")) {
      time.textContent = own.slice(own.startsWith(day) ? 11 : 0, time.closest(".log") ? 19 : 16);
      day = own.slice(0, 10);
    } else if (/^\d{4}-/.test(time.textContent)) {
      time.textContent = time.closest("td, .people") ? own.slice(0, 16) : own;
    } else if (/^\d\d:/.test(time.textContent)) {
      time.textContent = own.slice(11, 19);
    } else {
      time.title = `${own}, ${time.title}`; // of "3 hours ago"
    }
  }

  for (const log of document.querySelectorAll(".log:has(.day)")) {
    const days = [...log.querySelectorAll(".day")];
    let current;
    for (const row of log.querySelectorAll(".row")) {
      const moment = new Date(row.querySelector("time").dateTime);
      const name = moment.toLocaleDateString("en-GB", DAY);
      if (name !== current) {
        const own = days[0].cloneNode(true);
        own.cells[0].textContent = current ? name : `${name}, ${ZONE}`;
        row.before(own);
        current = name;
      }
    }
    days.forEach((each) => each.remove());
  }
}
localise();

// A timeline names the zone. A filter's days are of it too, unless a URL has another one.
for (const zone of document.querySelectorAll("[name=zone]")) {
  zone.value ||= ZONE;
}
