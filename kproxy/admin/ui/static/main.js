// Which page is shown, and one look after the other, as long as somebody can see it.

import { NotAnswered, ask, keepToken } from "./admin-port.js";
import { element, setText } from "./elements.js";
import { Looks } from "./looks.js";
import { BrokersPage } from "./page-brokers.js";
import { FleetPage } from "./page-fleet.js";
import { GroupPage } from "./page-group.js";
import { GroupsPage } from "./page-groups.js";
import { SessionsPage } from "./page-sessions.js";
import { age } from "./wording.js";

const MOST_WAIT_MS = 5_000; // between two attempts while nobody answers

const main = document.getElementById("main");
const notice = document.getElementById("notice");
const state = document.getElementById("state");
const asOf = document.getElementById("as-of");
const interval = document.getElementById("interval");
const tip = document.getElementById("tip");

const looks = new Looks();
let page = null;
let turn = 0; // counts pages: what an earlier one asked for is of no use any more
let timer = null;
let failures = 0;
let answeredMs = null;

function pageAt(hash) {
  const [name, place] = hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (name === "groups" && place) return ["groups", GroupPage, place];
  const pages = { groups: GroupsPage, sessions: SessionsPage, brokers: BrokersPage, fleet: FleetPage };
  return name in pages ? [name, pages[name], ""] : ["groups", GroupsPage, ""];
}

function open() {
  let found;
  try {
    found = pageAt(location.hash);
  } catch {
    found = pageAt(""); // a hash that is not encoded as it should be
  }
  const [name, Page, place] = found;
  page?.close();
  tip.hidden = true;
  main.replaceChildren();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = place ? `${place} – kproxy` : `kproxy – ${name}`;
  page = new Page(main, place, { looks });
  turn += 1;
  look();
}

async function look() {
  clearTimeout(timer);
  const [mine, asking] = [turn, page];
  try {
    const answer = await asking.look();
    const status = (await ask(["status"])).items[0];
    if (mine !== turn) return;
    answered(answer, status);
  } catch (error) {
    if (mine !== turn) return;
    if (!(error instanceof NotAnswered)) console.error(error);
    failed(error);
  }
  const every = Number(interval.value);
  const wait = failures ? Math.min(MOST_WAIT_MS, 500 * 2 ** failures) : every;
  if ((wait > 0 || failures) && !document.hidden) timer = setTimeout(look, wait);
}

function answered(answer, status) {
  failures = 0;
  answeredMs = Date.now();
  const isWell = status.state === "ready" && status.shareGroups?.state !== "unavailable";
  setText(state, `${isWell ? "●" : "▲"} ${status.state}${status.shareGroups?.state === "unavailable" ? ", share groups unavailable" : ""}`);
  state.className = isWell ? "state" : "state warn";
  setText(asOf, `as of ${answer.asOf.slice(11, 19)} UTC`);
  if (answer.unavailable) say(`This is not the whole truth: ${answer.unavailable}`);
  else notice.hidden = true;
}

function failed(error) {
  failures += 1;
  state.className = "state bad";
  if (error.status === 401) {
    setText(state, "■ token wanted");
    askForToken(error.message);
    return;
  }
  if (error.status === 404 || error.status === 403) {
    setText(state, "■ refused");
    say(error.message);
    return;
  }
  setText(state, "■ no answer");
  const shown = answeredMs === null ? "" : ` What is shown is ${age(Date.now() - answeredMs)} old.`;
  say(`kproxy does not answer (${error.message}).${shown} Trying again…`);
}

function say(text) {
  notice.hidden = false;
  if (notice.textContent !== text) notice.replaceChildren(text);
}

/** The form stays as it is while somebody types. */
function askForToken(message) {
  notice.hidden = false;
  if (notice.querySelector("form")) return;
  const field = element("input", { type: "password", "aria-label": "Token", autocomplete: "off", placeholder: "token" });
  const form = element("form", { submit: (event) => {
    event.preventDefault();
    keepToken(field.value.trim());
    notice.replaceChildren();
    look();
  } }, field, element("button", { type: "submit" }, "Use it in this tab"));
  notice.replaceChildren(element("p", {}, message), form);
}

function redraw() {
  page?.drawLegend?.();
  page?.draw();
}

let resized = null;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(redraw, 100);
});
window.addEventListener("hashchange", open);
document.addEventListener("visibilitychange", () => document.hidden || look());
interval.addEventListener("change", look);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
  const field = main.querySelector("input[type=search]");
  if (field === null) return;
  event.preventDefault();
  field.focus();
});
open();
