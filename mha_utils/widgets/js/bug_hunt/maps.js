// Draws one picture of the right module and of the suspect, and says how they differ.
import THEME from "../kit/theme.json" with { type: "json" };
import { label } from "../kit/canvas.js";
import { weightHex } from "../kit/colour.js";
import { write } from "../kit/element.js";
import { drawGrid } from "../kit/grid.js";

/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

/**
 * The chosen picture of the right module and of the suspect, and what there is to be seen.
 * @param {Record<"right" | "suspect", Canvas> & Record<"who" | "meaning" | "note", Node>} nodes
 * @param {Float32Array} maps
 * @param {State} state
 * @param {Colours} colours
 */
export function showPictures({ right, suspect, who, meaning, note }, maps, state, colours) {
  const { answers, piece, seen, number, pieces, isFound, shown, pictures, words } = state;
  const [title, , what] = pictures[shown];
  const goal = mapOf(maps, state, answers[answers.length - 1]);
  const sizes = seen ? mapOf(maps, state, answers[piece]) : null;
  const text = sizes ? compare(sizes, goal) : `Not asked yet: press “${title}?”.`;
  drawMap(right, words, goal, goal, colours);
  drawMap(suspect, words, sizes, goal, colours);
  write(who, isFound ? `Suspect ${number}: ${pieces[piece][0]}` : `Suspect ${number}`);
  write(meaning, what);
  write(note, text);
  label(right, `Right module, ${title}. ${inRows(goal, words)}`);
  label(suspect, `Suspect ${number}, ${title}. ${text} ${sizes ? inRows(sizes, words) : ""}`);
}

/**
 * @param {Float32Array} maps
 * @param {State} state
 * @param {number[]} answers
 */
function mapOf(maps, { words, probes, shown }, answers) {
  const size = words.length ** 2;
  const place = answers[probes.length + shown];
  return maps.subarray(place * size, (place + 1) * size);
}

/**
 * @param {Float32Array} sizes
 * @param {Float32Array} goal
 */
function compare(sizes, goal) {
  const others = sizes.filter((size, at) => short(size) !== short(goal[at])).length;
  const extra = sizes.filter((size, at) => isExtra(size, goal[at])).length;
  if (!others && !extra) return "To two digits all numbers are those of the right module.";
  const red = extra ? ` Framed (${extra}): NaN, or not 0 where the right module has 0.` : "";
  return `${others} of ${sizes.length} numbers differ from the right module's.${red}`;
}

/**
 * @param {number} size
 * @param {number} goal
 */
function isExtra(size, goal) {
  return Number.isNaN(size) || (size !== 0 && goal === 0);
}

/** @param {number} size */
function short(size) {
  return size.toFixed(Math.abs(size) < 9.995 ? 2 : 0);
}

/**
 * @param {Float32Array} sizes
 * @param {string[]} words
 */
function inRows(sizes, words) {
  /** @param {number} i */
  const row = (i) => Array.from(sizes.subarray(i * words.length, (i + 1) * words.length), short);
  return words.map((word, i) => `Row “${word}”: ${row(i).join(" ")}`).join("; ");
}

/**
 * @param {Canvas} canvas
 * @param {string[]} words
 * @param {Float32Array | null} sizes nothing, where nobody has asked for the picture
 * @param {Float32Array} goal
 * @param {Colours} colours
 */
function drawMap(canvas, words, sizes, goal, { ink, paper }) {
  const most = Math.max(...goal) || 1;
  /** @type {import("../kit/grid.js").Grid["cellAt"]} */
  const cellAt = (i, j) => {
    const at = i * words.length + j;
    if (!sizes) return { fill: weightHex(0), text: "?" };
    if (sizes[at] === 0) return { fill: paper };
    const frame = isExtra(sizes[at], goal[at]);
    const fill = frame ? THEME.warning : weightHex(sizes[at] / most);
    return { fill, text: short(sizes[at]), frame };
  };
  drawGrid(canvas, { rows: words, columns: words, ink, cellAt });
}
