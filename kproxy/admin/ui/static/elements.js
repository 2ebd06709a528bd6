// Making and changing elements. Text is only ever set as text: what clients call themselves is no markup.

/** Makes an element with attributes; a function is a listener, null and false leave an attribute out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Sets the text of an element if it is another one. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Lets `parent` have these children in this order, and moves none that stands where it should. */
export function arrange(parent, children) {
  let place = parent.firstChild;
  for (const child of children) {
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

/** A canvas's context, scaled so that one unit is a pixel of the page. */
export function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [inner, outer] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== inner) canvas.width = inner;
  if (canvas.height !== outer) canvas.height = outer;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
