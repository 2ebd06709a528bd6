// What two looks at the same groups say: rates, and how they went. Pure.

const COUNTS = { acknowledged: "acknowledgedCount", delivered: "deliveredCount", redelivered: "redeliveredCount" };

/** Records per second between two looks at one group; null for what two looks do not tell. */
export function rates(before, now, seconds) {
  const found = {};
  for (const [name, count] of Object.entries(COUNTS)) {
    const grown = before === undefined ? -1 : now[count] - before[count];
    found[name] = grown;
  }
  const isKnown = seconds > 0 && Object.values(found).every((grown) => grown >= 0);
  for (const name of Object.keys(found)) found[name] = isKnown ? found[name] / seconds : null;
  return found;
}

/** What was seen of groups: the newest look, rates, and the last `most` of lag and rates. Groups that went are forgotten. */
export class Looks {
  constructor(most = 300) {
    this.most = most;
    this.groups = new Map();
  }

  /**
   * Takes note of groups as they were at `atMs`, by a clock that only goes forward, and at `timeMs` by the clock on the
   * wall. With `isAll`, groups that are not among them are gone.
   */
  add(atMs, timeMs, groups, isAll = true) {
    const seen = isAll ? new Map() : this.groups;
    for (const group of groups) {
      const before = this.groups.get(group.groupId);
      const found = rates(before?.group, group, before ? (atMs - before.atMs) / 1000 : 0);
      const history = before?.history ?? [];
      history.push({ timeMs, lag: group.lag ?? null, inFlight: group.inFlightCount, ...found });
      if (history.length > this.most) history.shift();
      seen.set(group.groupId, { atMs, group, rates: found, history });
    }
    this.groups = seen;
  }

  of(groupId) {
    return this.groups.get(groupId);
  }
}

/** How badly a group does, the worst first: how long its oldest record waits, then lag, then repeated deliveries. */
export function byPain(one, other) {
  return (
    known(other.group.oldestAgeMs) - known(one.group.oldestAgeMs) ||
    known(other.group.lag) - known(one.group.lag) ||
    known(other.rates.redelivered) - known(one.rates.redelivered) ||
    known(other.group.redeliveredCount) - known(one.group.redeliveredCount) ||
    (one.group.groupId < other.group.groupId ? -1 : 1)
  );
}

function known(value) {
  return value === null || value === undefined ? -1 : value;
}
