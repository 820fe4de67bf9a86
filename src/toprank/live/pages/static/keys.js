// Keys: a letter moves the focus to what has it as data-key, and Enter presses it. j and k move
// along what has data-row; o presses it, x ticks it. Nothing happens while somebody types.
"use strict";

const typing = "input:not([type=checkbox]), textarea, select, dialog";

function step(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const here = rows.indexOf(document.activeElement);
  const next = here < 0 ? (by > 0 ? 0 : rows.length - 1) : here + by;
  rows[next]?.focus();
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  o: () => document.activeElement.closest("[data-row]")?.click(),
  x: () => document.activeElement.closest("[data-tick]")?.click(),
  "/": () => { location.href = "/search"; },
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest(typing)) {
    if (event.key === "Escape") document.activeElement.blur();
    return;
  }
  const named = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!named && !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  if (named) named.focus();
  else keys[event.key]();
});
