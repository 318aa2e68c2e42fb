// Builds the maps of tokens by heads, one for each process, and what moves through their steps.
import { hatching, keyedPicture, prepare, roomFor } from "../kit/canvas.js";
import { headColour, inkOn } from "../kit/colour.js";
import { radios, slider } from "../kit/controls.js";
import { controls, hint, panel } from "../kit/element.js";
import { outline } from "../kit/grid.js";
import { gridKeys } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { compute, describe, lastStep, tileOf, WAYS } from "./state.js";

/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("./state.js").State} State */

const [WIDE, ACROSS, GAP, TITLE, LARGEST] = [900, 4, 18, 20, 22]; // CSS pixels, maps in a line
const WHOLE = "#a8a8a8"; // what is not cut into heads

export default mounted(buildProcessTiles);

/** @param {import("../kit/mount.js").View} view */
function buildProcessTiles(view) {
  const { model, body } = view;
  const maps = keyedPicture(
    view,
    "What each process holds, heads by tokens: left and right arrow keys choose a step, " +
      "up and down a way",
  );
  const steps = slider(view, "step", "step", () => ({
    min: 0,
    max: lastStep(model),
    format: (step) => String(Math.min(step, lastStep(model))),
  }));
  body.append(
    controls(
      radios(view, "way", "way", WAYS),
      steps,
      slider(view, "P processes", "num_processes", { min: 1, max: 8 }),
      slider(view, "H heads", "num_heads", { min: 1, max: 16 }),
      slider(view, "T tokens", "seq_len", { min: 1, max: 32 }),
    ),
    view.finding,
    panel(maps),
    hint(
      "Rows are heads, columns are tokens. A colour is the process that a tile comes from. Grey: " +
        "not cut into heads. Hatched: keys of later tokens, which are not read.",
    ),
  );
  view.onChange(["way", "num_processes"], steps.update);
  gridKeys(view, maps, {
    size: () => [WAYS.length, lastStep(model) + 1],
    get: () => [WAYS.indexOf(model.get("way")), Math.min(model.get("step"), lastStep(model))],
    set: (way, step) => {
      setTrait(model, "way", WAYS[way]);
      setTrait(model, "step", step);
    },
  });
  scene(view, ["num_processes", "num_heads", "seq_len", "way", "step"], (colours) => {
    const state = compute(model);
    drawMaps(maps, state, colours);
    view.say(describe(state));
  });
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
function drawMaps(canvas, state, colours) {
  const { p, h, t } = state;
  const width = roomFor(canvas, WIDE);
  const across = Math.min(p, width < 500 ? 2 : ACROSS);
  const cell = Math.max(Math.min(Math.floor((width / across - GAP) / t), LARGEST), 3);
  const tall = h * cell + TITLE + GAP;
  const pen = prepare(canvas, width, Math.ceil(p / across) * tall);
  const unread = hatching(pen, colours);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const rank of state.ranks) {
    const left = (rank % across) * (t * cell + GAP);
    const top = Math.floor(rank / across) * tall + TITLE;
    pen.font = "13px sans-serif";
    pen.fillStyle = colours.ink;
    pen.fillText(`process ${rank}`, left + (t * cell) / 2, top - TITLE / 2, t * cell + GAP);
    drawTiles(pen, state, rank, [left, top, cell], unread);
    outline(pen, colours.ink, [left, top, t * cell, h * cell], cell);
  }
}

/**
 * @param {Pen} pen
 * @param {State} state
 * @param {number} rank
 * @param {number[]} place left, top and size of a tile
 * @param {CanvasPattern} unread
 */
function drawTiles(pen, state, rank, [left, top, cell], unread) {
  pen.font = "11px sans-serif";
  for (let head = 0; head < state.h; head += 1) {
    for (let token = 0; token < state.t; token += 1) {
      const kind = tileOf(state, rank, token, head);
      if (!kind) continue;
      const [x, y] = [left + token * cell, top + head * cell];
      const owner = state.way === "heads" ? state.heads[head] : state.tokens[token];
      const fill = kind === "whole" ? WHOLE : headColour(owner);
      pen.fillStyle = kind === "unread" ? unread : fill;
      pen.fillRect(x + 1, y + 1, cell - 1, cell - 1);
      if (kind === "unread" || cell < 16) continue;
      pen.fillStyle = inkOn(fill);
      pen.fillText(String(token), x + cell / 2, y + cell / 2 + 0.5);
    }
  }
}
