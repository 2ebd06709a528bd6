// The backing brokers, where clients find them, and what this process holds of connections.

import { NotAnswered, ask } from "./admin-port.js";
import { element } from "./elements.js";
import { Listing } from "./listing.js";
import { showFacts } from "./page-groups.js";
import { age, whole } from "./wording.js";

const KNOWN = ["process", "nodeId", "advertised", "upstream"];

export class BrokersPage {
  constructor(root) {
    this.facts = element("dl", { class: "facts" });
    this.place = element("div");
    this.titles = "";
    root.append(element("h1", {}, "Brokers and connections"), this.facts, this.place);
  }

  async look() {
    const answer = await ask(["status"]);
    const [status] = answer.items;
    this.brokers = await brokersOf(status);
    this.status = status;
    this.draw();
    return answer;
  }

  draw() {
    if (this.status === undefined) return;
    const { status } = this;
    showFacts(this.facts, [
      ["kproxy", status.version, "words"],
      ["cluster", status.clusterId || "–", "words"],
      ["bootstrap", status.bootstrap || "–", "words"],
      ...(status.tlsBootstrap ? [["bootstrap, TLS", status.tlsBootstrap, "words"]] : []),
      ["connections of clients", whole(status.connectionsOpen), "words"],
      ["up for", age(Math.floor((status.uptimeSeconds ?? 0) * 1000)), "words"],
      ...(status.memory ? [["held by connections", `${mebibytes(status.memory.heldBytes)} of ${mebibytes(status.memory.maxBufferedBytes)} MiB`, "words"]] : []),
    ]);
    this.#columnsFor(this.brokers);
    this.listing.show(this.brokers);
  }

  close() {}

  /** Brokers may tell more than their addresses: every plain field is a column. */
  #columnsFor(brokers) {
    const names = brokers.length ? Object.keys(brokers[0]).filter((name) => isTold(name, brokers)) : KNOWN;
    if (this.titles === names.join()) return;
    this.titles = names.join();
    this.listing = new Listing({
      caption: "Backing brokers",
      empty: "kproxy has met no broker yet.",
      label: "Filter brokers",
      key: (broker) => `${broker.process ?? ""}/${broker.nodeId}`,
      order: title("nodeId"),
      columns: names.map((name) => {
        const isNumber = brokers.some((broker) => typeof broker[name] === "number") && name !== "nodeId";
        return { title: title(name), isNumber, text: (broker) => shown(name, broker[name]), by: (broker) => order(name, broker[name]) };
      }),
    });
    this.place.replaceChildren(this.listing.root);
  }
}

let isKnown = true; // that there is a path for brokers: older processes have none

/** What /api/v1/brokers tells, or what the status does where there is no such path. */
async function brokersOf(status) {
  if (!isKnown) return status.brokers ?? [];
  try {
    return (await ask(["brokers"])).items;
  } catch (error) {
    if (!(error instanceof NotAnswered) || error.status !== 404) throw error;
    isKnown = false;
    return status.brokers ?? [];
  }
}

/** Whether a field is a column: it is plain, and some broker has something there. */
function isTold(name, brokers) {
  const values = brokers.map((broker) => broker[name]);
  return KNOWN.slice(1).includes(name) || values.some((value) => value !== null && value !== "" && typeof value !== "object");
}

function order(name, value) {
  if (name === "nodeId") return -value;
  return typeof value === "boolean" ? Number(value) : value;
}

function shown(name, value) {
  if (name.endsWith("Ms")) return age(value);
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? whole(value) : String(value);
}

/** A field's name as a title: connectionsOpen is Connections open. */
function title(name) {
  if (name === "nodeId") return "Node";
  const words = name.replace(/Ms$/, "").replace(/^tls/, "TLS").replace(/(?<=[a-zS])[A-Z](?=[a-z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return words[0].toUpperCase() + words.slice(1);
}

function mebibytes(bytes) {
  return whole(Math.round(bytes / 2 ** 20));
}
