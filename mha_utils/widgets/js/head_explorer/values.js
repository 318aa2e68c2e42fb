// Writes the table that leads from the chosen query's weights over the values to its output.
import { inkOn, signedHex } from "../kit/colour.js";
import { element, hint, scale, tableRow, write } from "../kit/element.js";
import { asLabel, fixed } from "../kit/words.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {{ name: string, share: number, parts: number[] }} Line a key, or the rest of them */

const [MOST_KEYS, MOST_COLUMNS] = [12, 16]; // lines and columns of the table

/**
 * The weight of every key times its value, in the columns that are shown, and their sum: the
 * output. Of many keys those with the largest weights have a line, and the rest one together.
 * @param {State} state
 */
export function outputOf(state) {
  const { length, words, shares, column } = state;
  const vectors = valuesOf(state);
  const keys = keysToShow(shares);
  const parts = vectors.map((value, j) => value.map((number) => shares[j] * number));
  const rest = parts.map((_, j) => j).filter((j) => !keys.includes(j));
  /** @type {Line[]} */
  const lines = keys.map((j) => ({ name: words[j], share: shares[j], parts: parts[j] }));
  if (rest.length) lines.push({ name: `${rest.length} more`, ...total(rest, shares, parts) });
  return {
    lines,
    chosen: keys.indexOf(column),
    value: vectors[column] ?? [],
    output: length ? total(parts.map((_, j) => j), shares, parts) : { share: 0, parts: [] },
    largest: vectors.flat().reduce((most, number) => Math.max(most, Math.abs(number)), 0),
  };
}

/** The shown columns of the value of every token. @param {State} state */
function valuesOf({ v, ids, head, numHeads, valueDim }) {
  const count = Math.min(valueDim, MOST_COLUMNS);
  return ids.map((id) => {
    const start = (id * numHeads + head) * valueDim;
    return Array.from(v.subarray(start, start + count));
  });
}

/** The places of the largest shares, as they follow in the sentence. @param {Float32Array} shares */
function keysToShow(shares) {
  const all = Array.from(shares, (_, j) => j);
  if (all.length <= MOST_KEYS) return all;
  const largest = all.sort((a, b) => shares[b] - shares[a] || a - b).slice(0, MOST_KEYS - 1);
  return largest.sort((a, b) => a - b);
}

/**
 * @param {number[]} keys
 * @param {Float32Array} shares
 * @param {number[][]} parts
 */
function total(keys, shares, parts) {
  const sums = parts[0].map(() => 0);
  for (const j of keys) parts[j].forEach((part, d) => (sums[d] += part));
  return { share: keys.reduce((all, j) => all + shares[j], 0), parts: sums };
}

/** The table and what belongs to it; cells are made once and written to when they change. */
export function outputTable() {
  const [caption, table, note] = [element("caption"), tableNode(), hint()];
  const region = { role: "region", tabindex: 0, "aria-label": "the output of the query" };
  const node = element(
    "div",
    {},
    element("div", { class: "mha-scroll", ...region }, table),
    scale("−largest", "largest", "signed"),
    note,
  );
  let made = "";
  /** @type {HTMLElement[][]} */
  let rows = [];
  return {
    node,
    /** @param {State} state */
    draw(state) {
      node.hidden = !state.length;
      if (!state.length) return;
      const now = outputOf(state);
      const size = `${now.lines.length} ${now.output.parts.length}`;
      if (made !== size) rows = makeRows(table, caption, now);
      made = size;
      write(
        caption,
        `From weights over values to the output of “${asLabel(state.words[state.row])}”`,
      );
      write(note, noteOn(state, now));
      const lines = [...now.lines, { name: "sum = output", ...now.output }];
      lines.forEach((line, i) => writeLine(rows[i], line, now.largest));
      rows.forEach(([name], i) =>
        name.parentElement?.classList.toggle("mha-chosen", i === now.chosen)
      );
    },
  };
}

function tableNode() {
  return element("table", { class: "mha-sums mha-products" });
}

/**
 * @param {HTMLTableElement} table
 * @param {HTMLTableCaptionElement} caption
 * @param {ReturnType<typeof outputOf>} now
 */
function makeRows(table, caption, { lines, output }) {
  const names = output.parts.map((_, d) => `× v[${d}]`);
  const empty = ["", ...names.map(() => "")];
  const rows = [...lines, output].map(() => tableRow(["", ...empty]));
  rows[rows.length - 1].className = "mha-total";
  table.replaceChildren(caption, tableRow(["key", "weight", ...names], true), ...rows);
  return rows.map((row) => /** @type {HTMLElement[]} */ ([...row.children]));
}

/**
 * @param {HTMLElement[]} cells
 * @param {Line} line
 * @param {number} largest
 */
function writeLine([name, weight, ...cells], line, largest) {
  write(name, asLabel(line.name));
  write(weight, fixed(line.share));
  cells.forEach((cell, d) => {
    const colour = signedHex(largest ? line.parts[d] / largest : 0);
    write(cell, fixed(line.parts[d]));
    if (cell.dataset.colour === colour) return;
    cell.dataset.colour = colour;
    cell.style.background = colour;
    cell.style.color = inkOn(colour);
  });
}

/**
 * How the numbers of the chosen key are made, and what the table leaves out.
 * @param {State} state
 * @param {ReturnType<typeof outputOf>} now
 */
function noteOn({ words, column, shares, valueDim }, { value, largest }) {
  const isCut = valueDim > value.length;
  const numbers = value.map((number) => fixed(number)).join(", ");
  return (
    `“${asLabel(words[column])}” adds ${fixed(shares[column])} × (${numbers}${
      isCut ? ", …" : ""
    }). ` +
    `The largest value of all words is ${fixed(largest)}` +
    (isCut ? ` in columns 0 to ${value.length - 1}, which are shown, of ${valueDim}.` : ".")
  );
}
