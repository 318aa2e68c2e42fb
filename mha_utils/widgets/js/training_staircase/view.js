// Builds the place to train models and to see each land on the staircase.
import { label, picture } from "../kit/canvas.js";
import { listSlider, slider } from "../kit/controls.js";
import { caption, columns, controls, element, hint, panel, tableRow } from "../kit/element.js";
import { mounted, scene } from "../kit/mount.js";
import { fixed } from "../kit/words.js";
import { drawCurves } from "./curves.js";
import { drawStairs, MOST_HEADS } from "./stairs.js";
import { ceiling, describe, read } from "./state.js";
import { trainer } from "./trainer.js";

/** @typedef {import("./state.js").State} State */

const WIDTHS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 48];
const TRAITS = ["num_heads", "head_dim", "num_lookups", "runs", "curve", "training"];
const NOTE = "Stairs: the most that theory allows. Full circles: models with the width and the " +
  "vectors chosen now; empty ones: with others. Ringed: the last one.";
const LISTED = 8; // runs in the table

export default mounted(buildTrainingStaircase);

/** @param {import("../kit/mount.js").View} view */
function buildTrainingStaircase(view) {
  const { model, body } = view;
  const [stairs, curves] = [picture(""), picture("")];
  const table = element("table", { class: "mha-sums" });
  const { node, note, progress } = trainer(view);
  body.append(
    controls(
      slider(view, "heads H", "num_heads", { min: 1, max: MOST_HEADS }),
      listSlider(view, "head width Dh", "head_dim", () => WIDTHS),
      slider(view, "vectors m", "num_lookups", { min: 1, max: 6 }),
      node,
    ),
    note,
    view.finding,
    columns(
      panel(caption("R² on fresh sequences"), stairs, hint(NOTE)),
      panel(progress, curves, table),
    ),
  );
  scene(view, TRAITS, (colours) => {
    const state = read(model);
    drawStairs(stairs, state, colours);
    drawCurves(curves, state, colours);
    label(stairs, stairsInWords(state));
    label(curves, curvesInWords(state));
    writeRuns(table, state);
    view.say(describe(state));
  });
}

/** @param {State} state */
function stairsInWords({ width, vectors, runs, recorded }) {
  const steps = Array.from({ length: MOST_HEADS }, (_, i) => ceiling(i + 1, width, vectors));
  const allowed = steps.map((most, i) => `${i + 1}: ${fixed(most, 3)}`).join(", ");
  const points = runs.length ? ` ${runs.length} trained, listed in the table.` : "";
  const crosses = recorded.map(([heads, , r2]) => `${heads}: ${fixed(r2, 3)}`).join(", ");
  return `Most R² by number of heads: ${allowed}.${points}` +
    (crosses ? ` Recorded: ${crosses}.` : "");
}

/** @param {State} state */
function curvesInWords({ curve, runs }) {
  const now = curve.at(-1);
  if (!now) return "Loss and R² against training steps: nothing is trained yet";
  return `Run ${runs.length}, loss and R² against training steps. At step ${now[0]}: ` +
    `loss ${fixed(now[1], 3)}, R² ${fixed(now[2], 3)}.`;
}

/**
 * @param {HTMLTableElement} table
 * @param {State} state
 */
function writeRuns(table, { runs }) {
  table.hidden = !runs.length;
  const rows = runs.map(([heads, width, vectors, steps, r2], n) => [
    String(n + 1),
    `${heads} × ${width}`,
    ...[vectors, steps].map(String),
    fixed(r2, 3),
    fixed(ceiling(heads, width, vectors), 3),
  ]);
  const names = ["run", "H × Dh", "m", "steps", "R²", "at most"];
  const listed = rows.slice(-LISTED).map((row) => tableRow(row));
  table.replaceChildren(tableRow(names, true), ...listed);
}
