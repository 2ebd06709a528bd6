// The in-flight strip: the window of one share-partition, from its start offset to its end offset, on a canvas.

import { COLOURS, HATCHED, ground, mixed, styled } from "./colours.js";
import { element, sized } from "./elements.js";
import { cellsOf, countsOf, layout, shownState, strength } from "./strip-cells.js";
import { age, counted, offsets } from "./wording.js";

const ROW_HEIGHT = 20;
const CELL_HEIGHT = 16;
const LABEL_GAP = 8;
const HATCH_STEP = 5;
const FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

/** Draws runs; whoever points at a cell, or goes there by arrow keys, is told of its records. */
export class Strip {
  constructor(name) {
    this.name = name;
    this.runs = [];
    this.place = null;
    this.canvas = element("canvas", {
      class: "strip",
      tabindex: "0",
      role: "img",
      pointermove: (event) => this.#point(event),
      pointerleave: () => this.#leave(),
      blur: () => this.#leave(),
      keydown: (event) => this.#step(event),
    });
  }

  /** Shows these runs in `width` pixels. */
  show(runs, width) {
    this.runs = runs;
    this.width = width;
    const last = runs.length ? runs[runs.length - 1].lastOffset : 0;
    this.count = runs.length ? last + 1 - runs[0].firstOffset : 0;
    const context = this.canvas.getContext("2d");
    context.font = FONT;
    this.label = Math.ceil(context.measureText(String(last)).width) + LABEL_GAP;
    this.layout = layout(this.count, width - this.label);
    this.cells = cellsOf(runs, this.layout.offsetsPerCell);
    const told = countsOf(runs).map(([state, count]) => `${count} ${state}`);
    this.canvas.setAttribute("aria-label", `${this.name}: ${counted(this.count, "offset")} in flight, ${told.join(", ")}`);
    this.draw();
    if (this.place !== null) this.#tell();
  }

  draw() {
    const context = sized(this.canvas, this.width, this.layout.rows * ROW_HEIGHT);
    const colours = { ground: ground(), muted: styled("--muted"), ink: styled("--ink") };
    context.font = FONT;
    context.textBaseline = "middle";
    for (let row = 0; row < this.layout.rows; row += 1) {
      context.fillStyle = colours.muted;
      context.fillText(String(this.cells[row * this.layout.cellsPerRow].firstOffset), 0, row * ROW_HEIGHT + CELL_HEIGHT / 2 + 1);
    }
    this.cells.forEach((cell, place) => this.#drawCell(context, cell, place, colours));
  }

  #drawCell(context, cell, place, colours) {
    const [left, top, width] = this.#box(place);
    const share = strength(cell.run.deliveryCount, cell.run.deliveryCountLimit);
    context.fillStyle = mixed(COLOURS[cell.state], colours.ground, share);
    context.fillRect(left, top, width, CELL_HEIGHT);
    if (HATCHED.has(cell.state)) hatch(context, left, top, width, colours.ink);
    if (place === this.place) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 2;
      context.strokeRect(left, top + 1, width, CELL_HEIGHT - 2);
    }
  }

  /** Where a cell stands: left, top and width; the next one begins a pixel behind it. */
  #box(place) {
    const { cellWidth, cellsPerRow } = this.layout;
    return [this.label + (place % cellsPerRow) * cellWidth, Math.floor(place / cellsPerRow) * ROW_HEIGHT, cellWidth - 1];
  }

  #point(event) {
    const { cellWidth, cellsPerRow, rows } = this.layout;
    const column = Math.floor((event.offsetX - this.label) / cellWidth);
    const row = Math.min(rows - 1, Math.floor(event.offsetY / ROW_HEIGHT));
    const place = row * cellsPerRow + column;
    if (column < 0 || column >= cellsPerRow || this.cells[place] === undefined) this.#leave();
    else this.#go(place);
  }

  #step(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.layout.cellsPerRow, ArrowUp: -this.layout.cellsPerRow };
    const step = steps[event.key];
    if (event.key === "Escape") this.#leave();
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.#go(Math.max(0, Math.min(this.cells.length - 1, this.place === null ? 0 : this.place + step)));
  }

  #go(place) {
    this.place = place;
    this.draw();
    this.#tell();
  }

  #leave() {
    if (this.place === null) return;
    this.place = null;
    this.draw();
    document.getElementById("tip").hidden = true;
  }

  #tell() {
    const cell = this.cells[this.place];
    if (cell === undefined) {
      this.#leave();
      return;
    }
    const tip = document.getElementById("tip");
    tip.replaceChildren(...tellings(cell).map((text, place) => element(place ? "div" : "strong", {}, text)));
    tip.hidden = false;
    const [left, top] = this.#box(this.place);
    const box = this.canvas.getBoundingClientRect();
    const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(most, box.left + left)) + window.scrollX}px`;
    tip.style.top = `${box.top + top + CELL_HEIGHT + 6 + window.scrollY}px`;
  }
}

/** Draws a cell of its own for a legend. */
export function legend(state) {
  const canvas = element("canvas", { class: "swatch", "aria-hidden": "true" });
  const context = sized(canvas, CELL_HEIGHT, CELL_HEIGHT);
  context.fillStyle = mixed(COLOURS[state], ground(), 0.85);
  context.fillRect(0, 0, CELL_HEIGHT, CELL_HEIGHT);
  if (HATCHED.has(state)) hatch(context, 0, 0, CELL_HEIGHT, styled("--ink"));
  return element("span", { class: "key" }, canvas, state);
}

function hatch(context, left, top, width, colour) {
  context.save();
  context.beginPath();
  context.rect(left, top, width, CELL_HEIGHT);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let from = left - CELL_HEIGHT - ((left - CELL_HEIGHT) % HATCH_STEP); from < left + width; from += HATCH_STEP) {
    context.moveTo(from, top + CELL_HEIGHT);
    context.lineTo(from + CELL_HEIGHT, top);
  }
  context.stroke();
  context.restore();
}

/** What is to be said of a cell, line by line. */
function tellings(cell) {
  const { run } = cell;
  const state = shownState(run);
  const lines = [`${offsets(cell.firstOffset, cell.lastOffset)}, ${state}`];
  if (run.firstOffset !== cell.firstOffset || run.lastOffset !== cell.lastOffset) {
    lines.push(`among ${offsets(run.firstOffset, run.lastOffset)}`);
  }
  lines.push(`delivered ${run.deliveryCount} of ${run.deliveryCountLimit} times`);
  if (run.memberId !== null) {
    lines.push(`held by ${run.clientId ? `${run.clientId} (${run.memberId})` : run.memberId}`);
    lines.push(
      state === "Overdue"
        ? `its lock of ${age(run.lockDurationMs)} has ended`
        : `for ${age(Math.max(0, run.lockDurationMs - run.lockRemainingMs))}, its lock ends in ${age(run.lockRemainingMs)}`,
    );
  }
  lines.push(run.blockedBy === null ? "the start offset stands here" : `the start offset stands at ${run.blockedBy}`);
  return lines;
}
