// All share groups, those that do worst first.

import { ask } from "./admin-port.js";
import { element, setText } from "./elements.js";
import { Listing } from "./listing.js";
import { byPain } from "./looks.js";
import { sparkline } from "./sparkline.js";
import { age, counted, rate, whole } from "./wording.js";

export class GroupsPage {
  constructor(root, _place, { looks }) {
    this.looks = looks;
    this.facts = element("dl", { class: "facts" });
    this.listing = new Listing({
      caption: "Share groups",
      empty: "There are no share groups yet: one is there as soon as a member has joined it.",
      label: "Filter by group or state",
      key: (seen) => seen.group.groupId,
      order: "Oldest unfinished",
      columns: COLUMNS,
    });
    root.append(element("h1", { class: "unseen" }, "Share groups"), this.facts, this.listing.root);
  }

  async look() {
    const answer = await ask(["groups"]);
    this.looks.add(performance.now(), Date.now(), answer.items);
    this.draw();
    return answer;
  }

  draw() {
    const seen = [...this.looks.groups.values()].filter(({ group }) => group.lagExact !== undefined);
    this.listing.show(seen);
    const sum = (value) => total(seen.map(value));
    const stuck = [...seen].sort(byPain)[0];
    showFacts(this.facts, [
      ["groups", whole(seen.length)],
      ["lag", whole(sum(({ group }) => group.lag), seen.every(({ group }) => group.lagExact))],
      ["in flight", whole(sum(({ group }) => group.inFlightCount))],
      ["acknowledged/s", rate(sum(({ rates }) => rates.acknowledged))],
      ["redelivered/s", rate(sum(({ rates }) => rates.redelivered))],
      ["oldest unfinished", stuck ? age(stuck.group.oldestAgeMs, stuck.group.oldestAgeExact) : age(null)],
    ]);
  }

  close() {}
}

/** The sum of what is known; null where nothing is. */
function total(values) {
  const known = values.filter((value) => value !== null);
  return known.length || !values.length ? known.reduce((sum, value) => sum + value, 0) : null;
}

const COLUMNS = [
  {
    title: "Group",
    text: ({ group }) => group.groupId,
    by: ({ group }) => group.groupId,
    link: ({ group }) => `#/groups/${encodeURIComponent(group.groupId)}`,
  },
  { title: "State", isLesser: true, text: ({ group }) => group.state, by: ({ group }) => group.state, look: ({ group }) => (group.memberCount === 0 && group.lag ? "bad" : "") },
  { title: "Members", isLesser: true, isNumber: true, text: ({ group }) => whole(group.memberCount), by: ({ group }) => group.memberCount },
  {
    title: "Oldest unfinished",
    help: "How long ago the first record was written that is not done with; sorts by that, then lag, then redeliveries",
    isNumber: true,
    text: ({ group }) => age(group.oldestAgeMs, group.oldestAgeExact),
    compare: byPain,
  },
  { title: "Lag", isNumber: true, text: ({ group }) => whole(group.lag, group.lagExact), by: ({ group }) => group.lag },
  { title: "In flight", isNumber: true, text: ({ group }) => whole(group.inFlightCount), by: ({ group }) => group.inFlightCount },
  {
    title: "Acknowledged/s",
    help: "Records that members accepted or rejected",
    isNumber: true,
    text: ({ rates }) => rate(rates.acknowledged),
    by: ({ rates }) => rates.acknowledged,
  },
  {
    title: "Redelivered/s",
    help: "Records delivered that were delivered before",
    isNumber: true,
    text: ({ rates }) => rate(rates.redelivered),
    by: ({ rates }) => rates.redelivered,
    look: ({ rates }) => (rates.redelivered ? "warn" : ""),
  },
  {
    title: "Oldest lock",
    help: "For how long a member has held a record, or since when it renewed its lock",
    isNumber: true,
    text: ({ group }) => age(group.oldestLockAgeMs),
    by: ({ group }) => group.oldestLockAgeMs,
  },
  {
    title: "Lag lately",
    isSearched: false,
    draw: ({ group, history }, cell) =>
      sparkline(cell, history.map((each) => each.lag), `lag of ${group.groupId} over ${counted(history.length, "look")}`),
  },
];

/** Shows facts by name. */
export function showFacts(list, facts) {
  while (list.children.length > facts.length) list.lastChild.remove();
  facts.forEach(([name, text, look], place) => {
    const fact = list.children[place] ?? list.appendChild(element("div", {}, element("dt"), element("dd")));
    setText(fact.firstChild, name);
    setText(fact.lastChild, text);
    fact.className = look ?? "";
  });
}
