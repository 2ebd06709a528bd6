// A line without axes: how a number went lately. Drawn only while it can be seen.

import { styled } from "./colours.js";
import { element, sized } from "./elements.js";

const WIDTH = 84;
const HEIGHT = 20;

const drawings = new WeakMap();
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const drawing = drawings.get(entry.target);
    if (drawing === undefined) continue;
    drawing.isSeen = entry.isIntersecting;
    if (drawing.isSeen) draw(entry.target, drawing.values);
  }
});

/** Shows `values`, null where one is not known, in a cell. */
export function sparkline(cell, values, what) {
  let canvas = cell.firstChild;
  if (canvas === null) {
    canvas = element("canvas", { class: "spark", role: "img" });
    cell.append(canvas);
    drawings.set(canvas, { isSeen: false, values });
    seen.observe(canvas);
  }
  const drawing = drawings.get(canvas);
  drawing.values = values;
  canvas.setAttribute("aria-label", what);
  if (drawing.isSeen) draw(canvas, values);
}

function draw(canvas, values) {
  const context = sized(canvas, WIDTH, HEIGHT);
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return;
  const most = Math.max(1, ...known);
  const step = WIDTH / Math.max(values.length - 1, 30);
  const left = WIDTH - (values.length - 1) * step;
  const height = (value) => 2 + (HEIGHT - 5) * (1 - value / most);
  context.strokeStyle = styled("--accent");
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.beginPath();
  let isDrawing = false;
  values.forEach((value, place) => {
    if (value === null) {
      isDrawing = false;
      return;
    }
    if (isDrawing) context.lineTo(left + place * step, height(value));
    else context.moveTo(left + place * step, height(value));
    isDrawing = true;
  });
  context.stroke();
}
