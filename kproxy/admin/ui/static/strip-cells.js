// The window of a share-partition as cells, one for each offset or for several. Pure.

/** By what is shown of a cell that has several: what somebody waits for hides what is done with. */
export const STATES = ["Overdue", "Acquired", "Available", "Archiving", "Archived", "Acknowledged"];

/** An acquired record whose lock has ended: whoever fetches next gets it. */
export function shownState(run) {
  return run.state === "Acquired" && run.lockRemainingMs === 0 ? "Overdue" : run.state;
}

/** How strongly a cell is drawn, from 0.5 for a first delivery to 1 for the last one that the limit allows. */
export function strength(deliveries, limit) {
  if (limit <= 1) return 1;
  return 0.5 + 0.5 * Math.min(1, Math.max(0, deliveries - 1) / (limit - 1));
}

/** Where cells stand in `width` pixels: their size, how many to a row, and how many offsets each has. */
export function layout(offsetCount, width, { least = 5, most = 16, mostRows = 8 } = {}) {
  const perRow = Math.max(1, Math.floor(width / least));
  const offsetsPerCell = Math.max(1, Math.ceil(offsetCount / (perRow * mostRows)));
  const cells = Math.ceil(offsetCount / offsetsPerCell);
  const cellWidth = Math.max(least, Math.min(most, Math.floor(width / Math.max(1, cells))));
  const cellsPerRow = Math.max(1, Math.floor(width / cellWidth));
  return { offsetsPerCell, cells, cellWidth, cellsPerRow, rows: Math.ceil(cells / cellsPerRow) };
}

/** Cells of `offsetsPerCell` offsets each for runs that follow each other without a gap: the run that each shows. */
export function cellsOf(runs, offsetsPerCell) {
  if (runs.length === 0) return [];
  const start = runs[0].firstOffset;
  const count = Math.ceil((runs[runs.length - 1].lastOffset + 1 - start) / offsetsPerCell);
  const cells = new Array(count).fill(null);
  for (const run of runs) {
    const rank = STATES.indexOf(shownState(run));
    const last = Math.floor((run.lastOffset - start) / offsetsPerCell);
    for (let place = Math.floor((run.firstOffset - start) / offsetsPerCell); place <= last; place += 1) {
      const before = cells[place];
      if (before === null || rank < before.rank || (rank === before.rank && run.deliveryCount > before.run.deliveryCount)) {
        cells[place] = { rank, run };
      }
    }
  }
  return cells.map((cell, place) => ({
    run: cell.run,
    state: STATES[cell.rank],
    firstOffset: start + place * offsetsPerCell,
    lastOffset: Math.min(start + (place + 1) * offsetsPerCell - 1, runs[runs.length - 1].lastOffset),
  }));
}

/** How many offsets are shown in which state. */
export function countsOf(runs) {
  const counts = new Map();
  for (const run of runs) {
    const state = shownState(run);
    counts.set(state, (counts.get(state) ?? 0) + run.lastOffset + 1 - run.firstOffset);
  }
  return STATES.filter((state) => counts.has(state)).map((state) => [state, counts.get(state)]);
}
