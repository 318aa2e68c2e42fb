// Draws the likeliest next letters as bars, and the text on the colours of its weights.
import THEME from "../kit/theme.json" with { type: "json" };
import { prepare, roomFor } from "../kit/canvas.js";
import { css, inkOn, weightColour, weightHex } from "../kit/colour.js";
import { fixed } from "../kit/words.js";
import { END } from "./state.js";

/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

const [WIDEST, TALL] = [480, 150]; // of the bars, in CSS pixels
const [CELL, LINE, MOST] = [10, 24, 84]; // of a letter: width, height; letters in a line

/**
 * A bar for each of the likeliest letters, its chance above it.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawBars(canvas, { likeliest, temperature }, { ink, line }) {
  const width = roomFor(canvas, WIDEST);
  const [step, floor] = [width / likeliest.length, TALL - 22];
  const pen = prepare(canvas, width, TALL);
  pen.fillStyle = ink;
  pen.font = "12px sans-serif";
  pen.textAlign = "left";
  pen.fillText(`at temperature ${fixed(temperature, 1)}`, 2, 11);
  pen.textAlign = "center";
  pen.lineWidth = 0.8;
  pen.strokeStyle = line;
  likeliest.forEach(({ letter, chance }, n) => {
    const [x, tall] = [(n + 0.1) * step, chance * (floor - 34)];
    pen.fillStyle = css(weightColour(chance));
    pen.fillRect(x, floor - tall, step * 0.8, tall);
    pen.strokeRect(x, floor - tall, step * 0.8, tall);
    pen.fillStyle = ink;
    pen.font = "11px sans-serif";
    pen.fillText(fixed(chance), x + step * 0.4, floor - tall - 5);
    const isLetter = letter !== " " && letter !== END;
    pen.font = isLetter ? "bold 15px sans-serif" : "11px sans-serif";
    pen.fillText(
      isLetter ? letter : { " ": "space", [END]: "end" }[letter],
      x + step * 0.4,
      TALL - 6,
    );
  });
}

/**
 * The text in lines; the last letter, which looks at all of them, is framed.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawText(canvas, { story, shares }, { line }) {
  const room = Math.max(1, Math.floor((roomFor(canvas, MOST * CELL + 4) - 4) / CELL));
  const places = placesOf(story, room);
  const tall = places[places.length - 1][1] + 1;
  const pen = prepare(canvas, Math.min(room, story.length) * CELL + 4, tall * LINE + 4);
  pen.font = "14px monospace";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.strokeStyle = line;
  pen.lineWidth = 0.5;
  [...story].forEach((letter, n) => {
    const [x, y] = [places[n][0] * CELL + 2, places[n][1] * LINE + 2];
    const colour = weightHex(shares[n]);
    pen.fillStyle = colour;
    pen.fillRect(x, y, CELL, LINE - 4);
    pen.fillStyle = inkOn(colour);
    pen.fillText(letter, x + CELL / 2, y + LINE / 2 - 1.5);
  });
  const [x, y] = places[story.length - 1];
  pen.strokeStyle = THEME.mark;
  pen.lineWidth = 2;
  pen.strokeRect(x * CELL + 2, y * LINE + 2, CELL, LINE - 4);
}

/**
 * The column and the line of each letter: a word that does not fit begins a new line.
 * @param {string} story
 * @param {number} room letters in a line
 */
function placesOf(story, room) {
  let [column, line] = [0, 0];
  return (story.match(/[^ ]* ?/g) ?? []).flatMap((word) => {
    if (column && column + word.length > room) [column, line] = [0, line + 1];
    return Array.from(word, () => {
      if (column >= room) [column, line] = [0, line + 1];
      column += 1;
      return [column - 1, line];
    });
  });
}
