// Live updates: the server says when something new is there, and activity renews the lease.
"use strict";

const live = document.getElementById("live");
const oftenest = 30_000; // milliseconds between two renewals

let events = null;

// a browser has few connections for one server, so only the page in view keeps one
function connect() {
  events?.close();
  events = null;
  if (document.hidden) return;
  events = new EventSource(live.dataset.source);
  events.addEventListener("changed", (event) => {
    document.getElementById("live-text").textContent = event.data;
    document.getElementById("live-banner").hidden = false;
  });
  events.addEventListener("over", () => events.close());
}

connect();
document.addEventListener("visibilitychange", connect);

if (live.dataset.renew) {
  let last = Date.now();
  const renew = () => {
    if (Date.now() - last < oftenest) return;
    last = Date.now();
    const body = new URLSearchParams({ token: live.dataset.token });
    fetch(live.dataset.renew, { method: "POST", body });
  };
  for (const kind of ["keydown", "pointermove", "scroll"]) addEventListener(kind, renew, { passive: true });
}

for (const left of document.querySelectorAll("[data-seconds]")) {
  let seconds = Number(left.dataset.seconds);
  const timer = setInterval(() => {
    seconds -= 1;
    left.textContent = seconds > 0 ? `Possible for ${seconds} s.` : "";
    if (seconds > 0) return;
    clearInterval(timer);
    left.closest(".banner").hidden = true;
  }, 1000);
}
