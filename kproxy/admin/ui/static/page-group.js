// One share group: what blocks it, who holds what, and what is in flight of each partition.

import { ask } from "./admin-port.js";
import { Chart } from "./charts.js";
import { arrange, element, setText } from "./elements.js";
import { Listing } from "./listing.js";
import { showFacts } from "./page-groups.js";
import { STATES } from "./strip-cells.js";
import { Strip, legend } from "./strip.js";
import { age, counted, offsets, rate, whole } from "./wording.js";

const MOST_STRIPS = 20; // partitions that are drawn at once: each is asked for by itself
const MOST_AT_ONCE = 20_000; // offsets in flight up to which one question tells of all partitions

export class GroupPage {
  constructor(root, groupId, { looks }) {
    this.groupId = groupId;
    this.looks = looks;
    this.parts = new Map();
    this.shown = MOST_STRIPS;
    this.found = null;
    this.state = element("span", { class: "pill" });
    this.verdict = element("p", { class: "verdict" });
    this.facts = element("dl", { class: "facts" });
    this.rates = new Chart("Records per second", [
      { label: "acknowledged", colour: "Acknowledged" },
      { label: "delivered", colour: "Available", dash: [6, 3] },
      { label: "redelivered", colour: "Overdue", dash: [2, 2] },
    ]);
    this.lag = new Chart("Lag and in flight", [
      { label: "lag", colour: "--accent" },
      { label: "in flight", colour: "Acquired", dash: [6, 3] },
    ]);
    this.members = new Listing({
      caption: "Members",
      empty: "Nobody consumes: the group has no members.",
      label: "Filter members",
      key: (member) => member.memberId,
      order: "Holds",
      columns: MEMBER_COLUMNS,
    });
    this.legend = element("p", { class: "legend", "aria-label": "What the colours mean" });
    this.drawLegend();
    this.partitions = element("div", { class: "partitions" });
    this.more = element("button", { type: "button", class: "more", hidden: true, click: () => this.#showMore() });
    root.append(
      element("p", { class: "crumb" }, element("a", { href: "#/groups" }, "Groups"), " / "),
      element("h1", {}, groupId, " ", this.state),
      this.verdict,
      this.facts,
      element("div", { class: "charts" }, this.rates.root, this.lag.root),
      element("h2", {}, "Members"),
      this.members.root,
      element("h2", {}, "In flight"),
      this.legend,
      this.partitions,
      this.more,
    );
  }

  async look() {
    const answer = await ask(["groups", this.groupId]);
    const [group] = answer.items;
    const ordered = [...group.sharePartitions].sort(byWait);
    const runs = await this.#runsOf(ordered);
    const lags = ordered.map((each) => each.lag).filter((each) => each !== null);
    const lag = lags.length || !ordered.length ? lags.reduce((total, each) => total + each, 0) : null;
    this.looks.add(performance.now(), Date.now(), [{ ...group, lag }], false);
    this.found = { group, ordered, runs, lag, lagExact: lags.length === ordered.length };
    this.draw();
    return answer;
  }

  draw() {
    if (this.found === null) return;
    const { group, ordered, runs, lag, lagExact } = this.found;
    const { rates, history } = this.looks.of(this.groupId);
    setText(this.state, group.state);
    const oldest = ordered.find((each) => each.oldestAgeMs !== null);
    showFacts(this.facts, [
      ["lag", whole(lag, lagExact)],
      ["oldest unfinished", oldest ? age(oldest.oldestAgeMs, oldest.oldestAgeExact) : age(null)],
      ["in flight", whole(group.inFlightCount)],
      ["acknowledged/s", rate(rates.acknowledged)],
      ["delivered/s", rate(rates.delivered)],
      ["redelivered/s", rate(rates.redelivered), rates.redelivered ? "warn" : ""],
      ["oldest lock", age(group.oldestLockAgeMs)],
    ]);
    this.#showVerdict(group, ordered, runs);
    const times = history.map((each) => each.timeMs / 1000);
    this.rates.show([times, ...["acknowledged", "delivered", "redelivered"].map((name) => history.map((each) => each[name]))]);
    this.lag.show([times, ...["lag", "inFlight"].map((name) => history.map((each) => each[name]))]);
    this.members.show(membersOf(group, runs));
    this.#showPartitions(ordered, runs);
  }

  /** Draws the legend in the colours of now. */
  drawLegend() {
    const note = element("span", { class: "muted" }, "stronger: delivered more often; hatched: its lock has ended");
    this.legend.replaceChildren(...STATES.map((state) => legend(state)), note);
  }

  close() {
    this.rates.close();
    this.lag.close();
  }

  /** Asks once for all, or for each partition that is drawn, one after the other. */
  async #runsOf(ordered) {
    const drawn = ordered.filter((each) => each.inFlightCount > 0);
    const runs = new Map(drawn.map((each) => [placeOf(each), []]));
    if (drawn.reduce((total, each) => total + each.inFlightCount, 0) <= MOST_AT_ONCE) {
      const answer = drawn.length ? await ask(["in-flight"], { group: this.groupId }) : { items: [] };
      for (const run of answer.items) runs.get(placeOf(run))?.push(run);
      return runs;
    }
    for (const each of drawn.slice(0, this.shown)) {
      const query = { group: this.groupId, topic: each.topicId, partition: each.partition };
      runs.set(placeOf(each), (await ask(["in-flight"], query)).items);
    }
    return runs;
  }

  #showVerdict(group, ordered, runs) {
    const waiting = ordered.find((each) => each.lag > 0);
    setText(this.verdict, verdict(group, waiting, waiting && runs.get(placeOf(waiting))));
    this.verdict.className = waiting === undefined ? "verdict well" : "verdict";
  }

  #showMore() {
    this.shown += MOST_STRIPS;
    this.draw();
  }

  #showPartitions(ordered, runs) {
    const width = this.partitions.clientWidth - 26;
    const shown = ordered.slice(0, this.shown);
    const kept = new Set(shown.map(placeOf));
    for (const place of this.parts.keys()) if (!kept.has(place)) this.parts.delete(place);
    arrange(this.partitions, shown.map((each) => this.#partition(each, runs.get(placeOf(each)) ?? [], width)));
    this.more.hidden = ordered.length <= this.shown;
    setText(this.more, `${counted(ordered.length - this.shown, "more partition")}`);
  }

  #partition(sharePartition, runs, width) {
    const place = placeOf(sharePartition);
    const name = `${sharePartition.topicName ?? sharePartition.topicId}-${sharePartition.partition}`;
    if (!this.parts.has(place)) {
      const made = { name: element("h3", {}, name), told: element("p", { class: "muted" }), strip: new Strip(name) };
      made.root = element("section", { class: "partition" }, element("div", { class: "line" }, made.name, made.told), made.strip.canvas);
      this.parts.set(place, made);
    }
    const part = this.parts.get(place);
    setText(part.told, partitionText(sharePartition));
    part.strip.canvas.hidden = runs.length === 0;
    if (runs.length > 0) part.strip.show(runs, Math.max(width, 120));
    return part.root;
  }
}

const MEMBER_COLUMNS = [
  { title: "Client", text: (member) => member.clientId || "–", by: (member) => member.clientId },
  { title: "Member", isLesser: true, text: (member) => member.memberId, by: (member) => member.memberId, look: () => "mono" },
  { title: "Host", text: (member) => member.clientHost ?? "gone", look: (member) => (member.clientHost ? "" : "bad") },
  {
    title: "Last heartbeat",
    isNumber: true,
    text: (member) => age(member.lastHeartbeatAgeMs),
    by: (member) => member.lastHeartbeatAgeMs,
  },
  { title: "Partitions", isLesser: true, isNumber: true, text: (member) => whole(member.partitionCount), by: (member) => member.partitionCount },
  { title: "Holds", isNumber: true, text: (member) => whole(member.holds), by: (member) => member.holds },
  { title: "Held for", isNumber: true, text: (member) => age(member.sinceMs), by: (member) => member.sinceMs },
];

function placeOf(each) {
  return `${each.topicId}/${each.partition}`;
}

function byWait(one, other) {
  return (
    (other.oldestAgeMs ?? -1) - (one.oldestAgeMs ?? -1) ||
    (other.lag ?? -1) - (one.lag ?? -1) ||
    String(one.topicName).localeCompare(String(other.topicName)) ||
    one.partition - other.partition
  );
}

/** The members of a group, and whoever holds records without being one, with what each holds. */
function membersOf(group, runs) {
  const held = new Map();
  for (const run of [...runs.values()].flat()) {
    if (run.memberId === null) continue;
    const before = held.get(run.memberId) ?? { holds: 0, sinceMs: 0, clientId: run.clientId };
    before.holds += run.lastOffset + 1 - run.firstOffset;
    before.sinceMs = Math.max(before.sinceMs, run.lockDurationMs - run.lockRemainingMs);
    held.set(run.memberId, before);
  }
  const members = group.members.map((member) => ({
    ...member,
    partitionCount: member.assignment.reduce((total, topic) => total + topic.partitions.length, 0),
    holds: held.get(member.memberId)?.holds ?? 0,
    sinceMs: held.get(member.memberId)?.sinceMs ?? null,
  }));
  const there = new Set(group.members.map((member) => member.memberId));
  const gone = [...held].filter(([memberId]) => !there.has(memberId));
  return [...members, ...gone.map(([memberId, of]) => ({ memberId, clientHost: null, lastHeartbeatAgeMs: null, partitionCount: 0, ...of }))];
}

/** One sentence: what the group waits for. */
function verdict(group, waiting, runs) {
  if (waiting === undefined) return "Nothing waits, as far as is known: all that was produced is done with.";
  const name = `${waiting.topicName ?? waiting.topicId}-${waiting.partition}`;
  const first = (runs ?? []).find((run) => run.state === "Acquired" || run.state === "Available");
  if (group.members.length === 0) {
    const of = first === undefined ? "" : `, from ${offsets(first.firstOffset, first.lastOffset)} on`;
    return `Nobody consumes: ${counted(waiting.lag, "record")} of ${name} wait for a member${of}.`;
  }
  if (first === undefined) return `${name} waits for a fetch: nothing of it is held, and ${counted(waiting.lag, "record")} are not done with.`;
  const where = `${name} is blocked by ${offsets(first.firstOffset, first.lastOffset)}`;
  const attempt = `attempt ${first.deliveryCount} of ${first.deliveryCountLimit}`;
  if (first.memberId === null) return `${where}: held by nobody after ${attempt}; the next fetch gets it.`;
  const held = age(Math.max(0, first.lockDurationMs - first.lockRemainingMs));
  const then = first.deliveryCount >= first.deliveryCountLimit ? "then it is archived" : "then it is for any member";
  return `${where}: held by ${first.clientId || first.memberId} for ${held}, ${attempt}; the lock ends in ${age(first.lockRemainingMs)}, ${then}.`;
}

function partitionText(each) {
  const limit = each.inFlightLimit === null ? "" : ` of ${whole(each.inFlightLimit)}`;
  const parts = [
    `lag ${whole(each.lag)}`,
    `${whole(each.inFlightCount)}${limit} in flight`,
    `oldest ${age(each.oldestAgeMs, each.oldestAgeExact)}`,
    `from offset ${each.startOffset ?? "–"}, the log ends at ${each.logEndOffset ?? "–"}`,
  ];
  if (!each.live) parts.push("nobody fetches it");
  if (each.reason) parts.push(each.reason);
  return parts.join(" · ");
}
