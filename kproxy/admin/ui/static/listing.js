// A table that is sorted by its titles, filtered by a field, and keeps its rows when their numbers change.

import { arrange, element, setText } from "./elements.js";

/**
 * A column has `title`, `text(item)` for its cell and, where it can be sorted by, `by(item)`: a number, the most first,
 * or a text; or `compare(item, other)`. `isNumber` aligns it to the right, `link(item)` makes it a link, `look(item)` names a class of the cell,
 * and `draw(item, cell)` draws into it instead of writing. A narrow screen has no room for what `isLesser`.
 */
export class Listing {
  constructor({ columns, key, caption, empty, order = null, label = "Filter" }) {
    this.columns = columns;
    this.key = key;
    this.order = order;
    this.isReversed = false;
    this.empty = empty;
    this.items = [];
    this.rows = new Map();
    this.titles = columns.map((column) => this.#title(column));
    this.body = element("tbody");
    this.nothing = element("p", { class: "nothing", hidden: true });
    this.count = element("span", { class: "muted" });
    this.field = element("input", {
      type: "search",
      placeholder: `${label}  (/)`,
      "aria-label": label,
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.draw(),
    });
    const head = element("thead", {}, element("tr", {}, ...this.titles.map(({ cell }) => cell)));
    this.table = element("table", {}, element("caption", { class: "unseen" }, caption), head, this.body);
    this.root = element(
      "div",
      { class: "listing", keydown: (event) => this.#move(event) },
      element("div", { class: "tools" }, this.field, this.count),
      element("div", { class: "scroll" }, this.table),
      this.nothing,
    );
  }

  /** Shows these items. */
  show(items) {
    this.items = items;
    this.draw();
  }

  draw() {
    const wanted = this.field.value.toLowerCase();
    const chosen = this.items.filter((item) => !wanted || this.columns.some((column) => isWanted(column, item, wanted)));
    const ordered = this.#ordered(chosen);
    const rows = ordered.map((item) => this.#row(item));
    const kept = new Set(this.items.map(this.key));
    for (const key of this.rows.keys()) if (!kept.has(key)) this.rows.delete(key);
    arrange(this.body, rows);
    this.table.hidden = this.items.length === 0;
    this.nothing.hidden = chosen.length > 0;
    setText(this.nothing, this.items.length === 0 ? this.empty : `Nothing has “${this.field.value}”.`);
    setText(this.count, wanted ? `${chosen.length} of ${this.items.length}` : "");
    for (const { column, cell, mark } of this.titles) {
      const isOrder = column.title === this.order;
      cell.setAttribute("aria-sort", isOrder ? (this.isReversed ? "ascending" : "descending") : "none");
      setText(mark, isOrder ? (this.isReversed ? "▲" : "▼") : "");
    }
  }

  #ordered(items) {
    const column = this.columns.find((each) => each.title === this.order);
    let ordered = items;
    if (column?.by) ordered = [...items].sort((one, other) => compared(column.by(one), column.by(other)));
    else if (column?.compare) ordered = [...items].sort(column.compare);
    return this.isReversed ? ordered.reverse() : ordered;
  }

  #title(column) {
    const mark = element("span", { class: "mark", "aria-hidden": "true" });
    const isSortable = column.by || column.compare;
    const name = isSortable ? element("button", { type: "button", click: () => this.#sortBy(column) }, ...(column.isNumber ? [mark, column.title] : [column.title, mark])) : column.title;
    const cell = element("th", { scope: "col", class: looks(column), title: column.help }, name);
    return { column, cell, mark };
  }

  #sortBy(column) {
    this.isReversed = this.order === column.title && !this.isReversed;
    this.order = column.title;
    this.draw();
  }

  #row(item) {
    const key = this.key(item);
    let row = this.rows.get(key);
    if (row === undefined) {
      row = element("tr", {}, ...this.columns.map((column) => emptyCell(column)));
      this.rows.set(key, row);
    }
    this.columns.forEach((column, place) => fill(column, item, row.cells[place]));
    return row;
  }

  /** Arrows go from link to link, as in a list. */
  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || event.target.tagName === "SELECT") return;
    const links = [...this.body.querySelectorAll("a")];
    const place = links.indexOf(document.activeElement);
    const next = place < 0 ? links[0] : links[place + step];
    if (next === undefined) return;
    next.focus();
    event.preventDefault();
  }
}

function looks(column) {
  return [column.isNumber && "number", column.isLesser && "lesser"].filter(Boolean).join(" ") || null;
}

function emptyCell(column) {
  const cell = element(column.link ? "th" : "td", { class: looks(column) });
  if (column.link) {
    cell.setAttribute("scope", "row");
    cell.append(element("a"));
  }
  return cell;
}

function fill(column, item, cell) {
  if (column.draw) {
    column.draw(item, cell);
    return;
  }
  const target = column.link ? cell.firstChild : cell;
  if (column.link && target.getAttribute("href") !== column.link(item)) target.setAttribute("href", column.link(item));
  setText(target, column.text(item));
  if (column.look) {
    const look = [looks(column), column.look(item)].filter(Boolean).join(" ");
    if (cell.className !== look) cell.className = look;
  }
}

function isWanted(column, item, wanted) {
  return column.isSearched !== false && !column.isNumber && Boolean(column.text) && column.text(item).toLowerCase().includes(wanted);
}

/** Numbers: the most first, what is not known last. Texts: from A to Z. */
function compared(one, other) {
  if (typeof one === "string" || typeof other === "string") return String(one) < String(other) ? -1 : String(one) > String(other) ? 1 : 0;
  return (other ?? -1) - (one ?? -1);
}
