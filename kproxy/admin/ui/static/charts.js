// Lines over time, by uPlot.

import { COLOURS, mixed, styled } from "./colours.js";
import { element } from "./elements.js";
import uPlot from "./vendor/uplot/uPlot.esm.js";

const HEIGHT = 150;

/** A chart of `lines`: each has a `label`, a `colour` of states or of the style sheet, and a `dash`. */
export class Chart {
  constructor(title, lines) {
    this.lines = lines;
    this.place = element("div", { class: "plot" });
    this.root = element("figure", { class: "chart" }, element("figcaption", {}, title), this.place);
    this.plot = null;
    this.look = "";
  }

  /** Shows `columns`: times in seconds, then the values of each line, null where one is not known. */
  show(columns) {
    const width = this.place.clientWidth;
    if (width === 0) return;
    const look = `${styled("--ink")}/${width}`;
    if (this.plot === null || this.look !== look) {
      this.close();
      this.look = look;
      this.plot = new uPlot(this.#options(width), columns, this.place);
    } else {
      this.plot.setData(columns);
    }
  }

  close() {
    this.plot?.destroy();
    this.plot = null;
  }

  #options(width) {
    const [muted, line] = [styled("--muted"), styled("--line")];
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui, sans-serif" };
    return {
      width,
      height: HEIGHT,
      cursor: { drag: { x: false, y: false } },
      legend: { live: true },
      scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, (most ?? 0) * 1.1)] } },
      axes: [
        { ...axis, values: (_plot, times) => times.map(clock) },
        { ...axis, size: 56, values: (_plot, values) => values.map(short) },
      ],
      series: [
        { label: "at", value: (_plot, time) => (time === null ? "–" : clock(time)) },
        ...this.lines.map(({ label, colour, dash }) => ({
          label,
          stroke: COLOURS[colour] ? mixed(COLOURS[colour], [0, 0, 0], 1) : styled(colour),
          width: 2,
          dash,
          spanGaps: false,
          points: { show: false },
          value: (_plot, value) => (value === null || value === undefined ? "–" : short(Math.round(value * 10) / 10)),
        })),
      ],
    };
  }
}

function clock(seconds) {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}

function short(value) {
  if (value >= 1e9) return `${trimmed(value / 1e9)}G`;
  if (value >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (value >= 1e4) return `${trimmed(value / 1e3)}k`;
  return String(value);
}

function trimmed(value) {
  return value.toFixed(1).replace(/\.0$/, "");
}
