// Open share sessions: who fetches, on which connection, and who has not asked for long.

import { ask } from "./admin-port.js";
import { element } from "./elements.js";
import { Listing } from "./listing.js";
import { age, whole } from "./wording.js";

export class SessionsPage {
  constructor(root) {
    this.listing = new Listing({
      caption: "Share sessions",
      empty: "No share session is open: nobody fetches now.",
      label: "Filter by group, client or member",
      key: (session) => `${session.nodeId}/${session.groupId}/${session.memberId}`,
      order: "Idle",
      columns: COLUMNS,
    });
    root.append(element("h1", {}, "Share sessions"), this.listing.root);
  }

  async look() {
    const answer = await ask(["sessions"]);
    this.listing.show(answer.items);
    return answer;
  }

  draw() {
    this.listing.draw();
  }

  close() {}
}

const COLUMNS = [
  {
    title: "Group",
    text: (session) => session.groupId,
    by: (session) => session.groupId,
    link: (session) => `#/groups/${encodeURIComponent(session.groupId)}`,
  },
  { title: "Client", text: (session) => session.clientId || "–", by: (session) => session.clientId },
  { title: "Member", isLesser: true, text: (session) => session.memberId, by: (session) => session.memberId, look: () => "mono" },
  { title: "Broker", isNumber: true, text: (session) => whole(session.nodeId), by: (session) => session.nodeId },
  { title: "Connection", isLesser: true, isNumber: true, text: (session) => whole(session.connectionId), by: (session) => session.connectionId },
  { title: "Next epoch", isLesser: true, isNumber: true, text: (session) => whole(session.nextEpoch), by: (session) => session.nextEpoch },
  { title: "Partitions", isNumber: true, text: (session) => whole(session.partitionCount), by: (session) => session.partitionCount },
  { title: "Idle", help: "How long ago its last request came, or its last fetch was over", isNumber: true, text: (session) => (session.fetching ? "fetches" : age(session.idleMs)), by: (session) => (session.fetching ? 0 : session.idleMs) },
];
