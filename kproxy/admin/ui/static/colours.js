// Colours of states: Okabe and Ito's palette, which people with any colour vision can tell apart.

export const COLOURS = {
  Overdue: [213, 94, 0], // vermillion, hatched
  Acquired: [230, 159, 0], // orange
  Available: [86, 180, 233], // sky blue
  Archiving: [204, 121, 167], // reddish purple, hatched
  Archived: [204, 121, 167],
  Acknowledged: [0, 158, 115], // bluish green
};

/** States that are hatched: their time is over, or they change at this moment. */
export const HATCHED = new Set(["Overdue", "Archiving"]);

/** The value of a custom property of the style sheet, such as --surface. */
export function styled(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A colour between that of the ground and `colour`, as CSS writes it. */
export function mixed(colour, ground, strength) {
  const parts = colour.map((part, place) => Math.round(ground[place] + (part - ground[place]) * strength));
  return `rgb(${parts.join(" ")})`;
}

/** The colour of the ground that cells are drawn on, as three numbers. */
export function ground() {
  const hex = styled("--surface").replace("#", "");
  return [0, 2, 4].map((place) => Number.parseInt(hex.slice(place, place + 2), 16));
}
