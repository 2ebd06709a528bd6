// Numbers and times for people, as the command line writes them. Pure.

/** What stands for a value that is not known, or not there. */
export const NOTHING = "–";

/** An age as 4.2s, 5m03s, 2h05m or 3d04h, rounded down; with > before it if it is a lower bound. */
export function age(ms, isExact = true) {
  if (ms === null || ms === undefined) return NOTHING;
  const seconds = Math.floor(ms / 1000);
  const two = (count, unit, rest, lesser) => `${count}${unit}${String(rest).padStart(2, "0")}${lesser}`;
  let text = `${seconds}.${Math.floor((ms % 1000) / 100)}s`;
  if (seconds >= 86_400) text = two(Math.floor(seconds / 86_400), "d", Math.floor((seconds % 86_400) / 3_600), "h");
  else if (seconds >= 3_600) text = two(Math.floor(seconds / 3_600), "h", Math.floor((seconds % 3_600) / 60), "m");
  else if (seconds >= 60) text = two(Math.floor(seconds / 60), "m", seconds % 60, "s");
  return (isExact ? "" : ">") + text;
}

/** A whole number with thin spaces between thousands; with > before it if it is a lower bound. */
export function whole(number, isExact = true) {
  if (number === null || number === undefined) return NOTHING;
  return (isExact ? "" : ">") + String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A rate: one digit behind the point below 10. */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return NOTHING;
  return perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : whole(Math.round(perSecond));
}

/** A count with its noun. */
export function counted(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Offsets from first to last, both inclusive. */
export function offsets(first, last) {
  return first === last ? `offset ${first}` : `offsets ${first} to ${last}`;
}
