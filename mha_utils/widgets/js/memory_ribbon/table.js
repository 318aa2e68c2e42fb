// Writes the notes around the pictures and the sum that finds a number in the storage.
import { caption, element, hint, tableRow, write } from "../kit/element.js";
import { headColour } from "../kit/colour.js";
import { isContiguous } from "./strided.js";

/** @typedef {import("./state.js").State} State */

/** The words around the pictures, and the numbers behind the chosen place as a table. */
export function notes() {
  const nodes = {
    legend: element("p", { class: "mha-legend" }),
    code: caption(),
    table: element("table", { class: "mha-sums" }),
    bytes: hint(),
  };
  /** @param {State} state */
  const show = (state) => {
    const isWhole = isContiguous(state.tensor) ? "True" : "False";
    const moved = state.moved ? `bytes moved: ${state.size} numbers were copied` : "no bytes moved";
    write(nodes.bytes, `is_contiguous() is ${isWhole}; ${moved}.`);
    write(nodes.code, `The tensor ${state.code}:`);
    fillTable(nodes.table, state);
    const numHeads = state.sizes[2];
    if (nodes.legend.childElementCount === numHeads) return;
    const before = "Colour: the head that a number belongs to (";
    nodes.legend.replaceChildren(before, ...swatches(numHeads), "). Number: its token.");
  };
  return { ...nodes, show };
}

/**
 * The cells are made once and then refilled.
 * @param {HTMLTableElement} table
 * @param {State} state
 */
function fillTable(table, { letters, index, place, tensor: { shape, strides } }) {
  const lines = [
    ["dimension", ...letters.split(" "), ""],
    ["shape", ...shape, ""],
    ["stride", ...strides, ""],
    ["index", ...index, ""],
    ["index × stride", ...index.map((i, d) => i * strides[d]), `sum ${place} = place`],
  ];
  if (table.rows[0]?.cells.length !== lines[0].length) {
    const rows = lines.map((line) => tableRow(line.map(() => "")));
    rows[rows.length - 1].className = "mha-total";
    table.replaceChildren(element("caption"), ...rows);
  }
  const title = `Element [${index.join(", ")}]: where is it in the storage?`;
  if (table.caption) write(table.caption, title);
  lines.forEach((line, r) => line.forEach((text, c) => write(table.rows[r].cells[c], text)));
}

/** @param {number} count */
function swatches(count) {
  return Array.from({ length: count }, (_, h) => [
    element("span", { class: "mha-swatch", style: `background: ${headColour(h)}` }),
    `${h}${h < count - 1 ? " " : ""}`,
  ]).flat();
}
