// Writes the painted mask as a table in each of three dialects of masks.
import { element, hint } from "../kit/element.js";

/** @typedef {{ name: string, where: string, write: (may: boolean) => string }} Dialect */

/** @type {Dialect[]} */
export const DIALECTS = [
  {
    name: "1 = True = may attend",
    where: "here and in F.scaled_dot_product_attention",
    write: (may) => (may ? "1" : "0"),
  },
  {
    name: "1 = True = may not attend",
    where: "nn.MultiheadAttention",
    write: (may) => (may ? "0" : "1"),
  },
  {
    name: "0 = may attend, −∞ = may not",
    where: "floats, added to the scores",
    write: (may) => (may ? "0" : "−∞"),
  },
];

/**
 * The whole mask as one dialect writes it; only cells that changed are written.
 * @param {Dialect} dialect
 * @param {number} length
 */
export function dialectTable({ name, where, write }, length) {
  const cells = Array.from({ length: length * length }, () => element("td"));
  const lines = Array.from(
    { length },
    (_, i) => element("tr", {}, ...cells.slice(i * length, (i + 1) * length)),
  );
  const note = hint();
  note.append(element("b", {}, name), element("br"), where);
  const about = { class: "mha-bits", "aria-label": `${where}: ${name}` };
  const table = element("table", about, element("tbody", {}, ...lines));
  table.style.maxWidth = `${24 * length}px`;
  /** @type {boolean[]} */
  let shown = [];
  return {
    node: element("div", {}, note, table),
    /** @param {import("./state.js").State} state */
    write({ allowed, row }) {
      cells.forEach((cell, at) => {
        if (shown[at] === allowed[at]) return;
        cell.textContent = write(allowed[at]);
        cell.classList.toggle("mha-forbidden", !allowed[at]);
      });
      shown = allowed;
      lines.forEach((line, i) => line.classList.toggle("mha-chosen", i === row));
    },
  };
}
