// The processes that serve these share groups together, and the slots of the state log by owner and state.

import { ask } from "./admin-port.js";
import { arrange, element, setText } from "./elements.js";
import { Listing } from "./listing.js";
import { showFacts } from "./page-groups.js";
import { age, counted, whole } from "./wording.js";

const WELL = new Set(["ready", "elsewhere", "leaving"]);

export class FleetPage {
  constructor(root) {
    this.facts = element("dl", { class: "facts" });
    this.problem = element("p", { class: "verdict bad", hidden: true });
    this.members = new Listing({
      caption: "Processes",
      empty: "This kproxy serves no share groups, or has not met its fleet yet.",
      label: "Filter processes",
      key: (member) => `${member.name}/${member.address}`,
      order: "Process",
      columns: MEMBER_COLUMNS,
    });
    this.grid = element("ol", { class: "slots", "aria-label": "Slots of the state log" });
    this.told = element("p", { class: "muted" });
    this.slots = new Map();
    this.listing = new Listing({
      caption: "Slots of the state log",
      empty: "It is not known yet how many slots the state log has.",
      label: "Filter slots by state, owner or reason",
      key: (slot) => slot.partition,
      order: "Slot",
      columns: SLOT_COLUMNS,
    });
    root.append(
      element("h1", {}, "Fleet"),
      this.problem,
      this.facts,
      this.members.root,
      element("h2", {}, "Slots of the state log"),
      this.told,
      this.grid,
      this.listing.root,
    );
  }

  async look() {
    const answer = await ask(["status"]);
    const log = await ask(["state-log"]);
    this.found = { status: answer.items[0], log };
    this.draw();
    return log.unavailable ? log : answer;
  }

  draw() {
    if (this.found === undefined) return;
    const { status, log } = this.found;
    const fleet = status.fleet ?? null;
    this.problem.hidden = !fleet?.problem;
    setText(this.problem, fleet?.problem ?? "");
    showFacts(this.facts, fleet === null ? [["fleet", "none: share groups are off"]] : [
      ["fleet", fleet.group, "words"],
      ["this process", fleet.name, "words"],
      ["state", fleet.state, "words"],
      ["lease", age(fleet.leaseMs), "words"],
      ["map epoch", String(fleet.mapEpoch), "words"],
      ["slots ready here", `${whole(fleet.slots.ready)} of ${whole(fleet.slots.owned)} owned`, "words"],
      ["slots moved", `${whole(fleet.moves.taken)} taken, ${whole(fleet.moves.givenUp)} given up, ${whole(fleet.moves.lost)} lost`, "words"],
    ]);
    this.members.show(fleet?.members ?? []);
    this.#showSlots(log.items);
  }

  close() {}

  #showSlots(slots) {
    const states = new Map();
    for (const { state } of slots) states.set(state, (states.get(state) ?? 0) + 1);
    setText(this.told, `${counted(slots.length, "slot")}: ${[...states].map(([state, count]) => `${count} ${state}`).join(", ")}`);
    const cells = slots.map((slot) => {
      if (!this.slots.has(slot.partition)) this.slots.set(slot.partition, element("li", {}, String(slot.partition)));
      const cell = this.slots.get(slot.partition);
      cell.className = `slot ${slot.state}`;
      cell.title = `slot ${slot.partition}: ${slot.state}${slot.owner ? `, ${slot.owner}` : ""}${slot.reason ? `: ${slot.reason}` : ""}`;
      cell.setAttribute("aria-label", cell.title);
      return cell;
    });
    arrange(this.grid, cells);
    this.listing.show(slots);
  }
}

const MEMBER_COLUMNS = [
  { title: "Process", text: (member) => member.name, by: (member) => member.name },
  { title: "Address", text: (member) => member.address || "–", look: () => "mono" },
  { title: "Slots", isNumber: true, text: (member) => whole(member.slotsOwned), by: (member) => member.slotsOwned },
  { title: "", text: (member) => [member.thisProcess ? "this one" : "", member.leaving ? "leaving" : ""].filter(Boolean).join(", ") },
  { title: "Problem", text: (member) => member.problem || "–", look: (member) => (member.problem ? "bad" : "") },
];

const SLOT_COLUMNS = [
  { title: "Slot", text: (slot) => String(slot.partition), by: (slot) => -slot.partition },
  { title: "State", text: (slot) => slot.state, by: (slot) => slot.state, look: (slot) => (WELL.has(slot.state) ? "" : "bad") },
  { title: "Owner", text: (slot) => slot.owner || "nobody", by: (slot) => slot.owner },
  { title: "Share-partitions", isNumber: true, text: (slot) => whole(slot.keyCount), by: (slot) => slot.keyCount },
  { title: "Waiting", isNumber: true, text: (slot) => whole(slot.waitingCount), by: (slot) => slot.waitingCount },
  { title: "Applied offset", isNumber: true, text: (slot) => whole(slot.appliedOffset), by: (slot) => slot.appliedOffset },
  { title: "Recovery point", isNumber: true, text: (slot) => whole(slot.recoveryPoint), by: (slot) => slot.recoveryPoint },
  { title: "Reason", text: (slot) => slot.reason || "–" },
];
