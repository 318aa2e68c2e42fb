// Builds the mask painter: forbid pairs of tokens and see which tokens leak through.
import { keyedPicture, label, picture } from "../kit/canvas.js";
import { slider } from "../kit/controls.js";
import { caption, columns, element, hint, panel, scale } from "../kit/element.js";
import { mounted, scene } from "../kit/mount.js";
import { DIALECTS, dialectTable } from "./dialects.js";
import { paintWithKeys, paintWithPointer, presetButtons } from "./painting.js";
import { drawLeak, drawMask } from "./pictures.js";
import { cellOf, compute, describe, leakLabel, products } from "./state.js";

export default mounted(buildMaskPainter);

/** @param {import("../kit/mount.js").View} view */
function buildMaskPainter(view) {
  const { model, body } = view;
  const [length] = model.get("shape");
  const mask = keyedPicture(
    view,
    "Mask, queries by keys: arrow keys choose a cell, the space bar changes it",
  );
  const leak = picture("Leak map");
  const tables = DIALECTS.map((dialect) => dialectTable(dialect, length));
  body.append(
    element(
      "div",
      { class: "mha-controls", role: "group", "aria-label": "mask and row" },
      ...presetButtons(view),
      slider(view, "query (row)", "row", { min: 0, max: length - 1 }),
    ),
    view.finding,
    columns(
      panel(
        caption("Paint: may row i look at column j?"),
        mask,
        scale(),
        hint(
          "Numbers: the weights. Hatched: forbidden. Click or " +
            "drag, or move with the arrow keys and press space.",
        ),
      ),
      panel(
        caption("Leak map: which tokens reach out i?"),
        leak,
        scale("0", "largest"),
        hint(
          "Numbers: size of the derivative |∂ out i / ∂ token j|. " +
            "Blank: exactly 0. Orange: a later token.",
        ),
      ),
    ),
    caption("The same mask in other dialects:"),
    element("div", { class: "mha-thirds" }, ...tables.map(({ node }) => node)),
  );
  paintWithPointer(view, mask);
  paintWithKeys(view, mask);
  let sent = products(model);
  view.onChange(["q", "k", "v"], () => (sent = products(model)));
  scene(view, ["allowed", "row", "column", "q", "k", "v"], (colours) => {
    const state = compute(model, sent);
    drawMask(mask, state, colours);
    drawLeak(leak, state, colours);
    label(leak, leakLabel(state));
    for (const { write } of tables) write(state);
    view.say(describe(state), cellOf(state));
  });
}
