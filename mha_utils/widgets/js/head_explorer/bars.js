// Draws how the chosen query shares out its attention: a bar for every key.
import THEME from "../kit/theme.json" with { type: "json" };
import { hatching, prepare, roomFor, writeTurned } from "../kit/canvas.js";
import { css, weightColour } from "../kit/colour.js";
import { asLabel } from "../kit/words.js";
import { LABELLED } from "./map.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

const [WIDEST, TALL, LEFT, TOP] = [400, 190, 4, 40]; // CSS pixels

/**
 * A bar for every key; in the future of the query a short hatched one.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawBars(canvas, state, colours) {
  const { length, words, row, column, shares, causal } = state;
  const width = roomFor(canvas, WIDEST);
  const pen = prepare(canvas, width, TALL);
  if (!length) return;
  const isLabelled = length <= LABELLED;
  const [step, floor] = [(width - LEFT) / length, TALL - (isLabelled ? 62 : 8)];
  const hatch = hatching(pen, colours);
  pen.fillStyle = colours.ink;
  pen.font = "13px sans-serif";
  pen.textAlign = "left";
  pen.fillText(`“${asLabel(words[row])}” shares out its attention`, LEFT, 12);
  shares.forEach((share, j) => {
    const [x, isFuture, isChosen] = [LEFT + j * step, causal && j > row, j === column];
    const tall = isFuture ? 12 : share * (floor - TOP);
    pen.fillStyle = isFuture ? hatch : css(weightColour(share));
    pen.fillRect(x + step * 0.1, floor - tall, step * 0.8, tall);
    pen.strokeStyle = isChosen ? THEME.mark : colours.line;
    pen.lineWidth = isChosen ? 2.5 : 0.7;
    pen.strokeRect(x + step * 0.1, floor - tall, step * 0.8, tall);
    if (!isLabelled) return;
    pen.fillStyle = colours.ink;
    pen.font = `${isChosen ? "bold " : ""}12px sans-serif`;
    pen.textAlign = "center";
    if (step > 26 && !isFuture) pen.fillText(share.toFixed(2), x + step / 2, floor - tall - 5);
    pen.textAlign = "right";
    writeTurned(pen, asLabel(words[j]), x + step / 2 + 4, floor + 8, -Math.PI / 3);
  });
}
