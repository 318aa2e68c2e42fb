// Keeps a table in the page and writes only the cells that have changed.
import { element, tableRow } from "../kit/element.js";

/** @typedef {import("./numbers.js").State} State */
/** @typedef {import("./tables.js").Table} Table */

/**
 * A table that keeps its cells and writes only what has changed. All tables lie in one place;
 * those of other steps are hidden but laid out, so that a step is drawn at once.
 * @param {(state: State) => Table} contentsOf
 */
export function liveTable(contentsOf) {
  const table = element("table", { class: "mha-sums" });
  const region = { role: "region", tabindex: 0, "aria-label": "numbers of this step" };
  const node = element("div", { class: "mha-scroll", ...region }, table);
  /** @type {ReturnType<typeof addLines> | undefined} */
  let lines;
  /** @param {Table} contents */
  const write = ({ header, rows, totals = 0, known = rows.length, chosen = -1 }) => {
    lines ??= addLines(table, header, rows, totals);
    lines.forEach(({ line, cells }, row) => {
      line.classList.toggle("mha-chosen", row === chosen);
      line.style.visibility = row < known ? "" : "hidden";
      cells.forEach((cell, column) => {
        if (cell.data !== rows[row][column]) cell.data = rows[row][column];
      });
    });
  };
  return {
    node,
    /** @type {(isOn: boolean, state: State) => void} */
    show(isOn, state) {
      node.style.visibility = isOn ? "" : "hidden";
      if (isOn || !lines) write(contentsOf(state));
    },
  };
}

/**
 * The rows of a table as text nodes that can be written to.
 * @param {HTMLTableElement} table
 * @param {string[]} header
 * @param {string[][]} rows
 * @param {number} totals
 */
function addLines(table, header, rows, totals) {
  table.append(tableRow(header, true));
  return rows.map((texts, row) => {
    const cells = texts.map((text) => document.createTextNode(text));
    const line = tableRow(cells);
    if (row >= rows.length - totals) line.className = "mha-total";
    table.append(line);
    return { line, cells };
  });
}
