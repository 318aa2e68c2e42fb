import {
  button, cellUnder, dot, drawGrid, element, floats, framed, hatching, liveSentence, mostAt,
  mountView, pageColours, picture, rowsOf, setTrait, slider, softmax, watchTheme, watchWidth, weightHex,
} from "./base.js";

const PRESETS = {
  everyone: () => true,
  causal: (i, j) => j <= i,
  padding: (i, j, length) => j < Math.max(length - 2, 1),
  window: (i, j) => j === i || j === i - 1,
};
const DIALECTS = [
  { name: "1 = True = may attend", where: "here and in F.scaled_dot_product_attention",
    write: (may) => (may ? "1" : "0") },
  { name: "1 = True = may not attend", where: "nn.MultiheadAttention",
    write: (may) => (may ? "0" : "1") },
  { name: "0 = may attend, −∞ = may not", where: "floats, added to the scores",
    write: (may) => (may ? "0" : "−∞") },
];

export default { render: ({ model, el }) => mountView(model, el, buildMaskPainter) };

function buildMaskPainter(view) {
  const { model, body } = view;
  const [mask, leak] = [picture("mask"), picture("leak map")];
  const finding = liveSentence();
  const tables = DIALECTS.map((dialect) => dialectTable(dialect, model.get("shape")[0]));
  body.append(
    element("div", { class: "mha-controls", role: "group", "aria-label": "mask and row" },
      ...Object.keys(PRESETS).map((name) => presetButton(view, name)),
      slider(view, "query (row)", "row", () => ({ min: 0, max: model.get("shape")[0] - 1 }))),
    finding,
    element("div", { class: "mha-halves" },
      panel("Paint: may row i look at column j?", mask, "Numbers: the weights. Hatched: forbidden. Click or "
        + "drag, or move with the arrow keys and press space."),
      panel("Leak map: which tokens reach out i?", leak, "Numbers: size of the derivative |∂ out i / ∂ token j|. "
        + "Blank: exactly 0. Red: a later token.")),
    element("p", { class: "mha-caption" }, "The same mask in other dialects:"),
    element("div", { class: "mha-thirds" }, ...tables.map(({ node }) => node)));

  let sent = products(model);
  const draw = framed(view, () => {
    const state = compute(model, sent);
    const colours = pageColours(body);
    drawMask(mask, state, colours);
    drawLeak(leak, state, colours);
    tables.forEach(({ write }) => write(state));
    const sentence = describe(state);
    if (finding.textContent !== sentence) finding.textContent = sentence;
    mask.setAttribute("aria-label", maskLabel(state));
    leak.setAttribute("aria-label", leakLabel(state));
  });
  paintWithPointer(view, mask);
  paintWithKeys(view, mask);
  view.onChange(["q", "k", "v"], () => (sent = products(model)));
  view.onChange(["allowed", "row", "column", "q", "k", "v"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

function panel(caption, canvas, hint) {
  return element("div", {}, element("p", { class: "mha-caption" }, caption), canvas,
    element("p", { class: "mha-hint" }, hint));
}

// ---- the state -------------------------------------------------------------------------

function compute(model, sent = products(model)) {
  const [length] = model.get("shape");
  const allowed = model.get("allowed");
  const may = (i, j) => allowed[i * length + j];
  const place = (name) => Math.max(Math.min(model.get(name), length - 1), 0);
  const weights = sent.scores.map((scores, i) => softmax(scores, (j) => may(i, j)));
  return {
    length, words: model.get("tokens"), allowed, may, weights,
    row: place("row"), column: place("column"),
    influence: weights.map((shares, i) => influenceOn(i, shares, sent)),
  };
}

/** All dot products between the vectors that Python sent; painting changes none of them. */
function products(model) {
  const [, headDim, valueDim] = model.get("shape");
  const [q, k] = ["q", "k"].map((name) => rowsOf(floats(model.get(name)), headDim));
  const v = rowsOf(floats(model.get("v")), valueDim);
  const gram = (a, b) => a.map((x) => b.map((y) => dot(x, y)));
  const scores = gram(q, k).map((row) => row.map((product) => product / Math.sqrt(headDim)));
  return { headDim, valueDim, scores, qq: q.map((x) => dot(x, x)), kk: gram(k, k), vv: gram(v, v) };
}

/** |d out_i / d (q, k, v of token j)| for every j: the size of each block of the derivative. */
function influenceOn(i, shares, { headDim, valueDim, qq, kk, vv }) {
  const [keys, values] = [centred(kk, shares), centred(vv, shares)];
  const squared = shares.map((share, j) =>
    share ** 2 * (valueDim + Math.max(values(j, j), 0) * qq[i] / headDim));
  shares.forEach((a, j) => shares.forEach((b, l) => {
    squared[i] += a * b * vv[j][l] * keys(j, l) / headDim; // its query moves all of its weights
  }));
  return squared.map((number) => Math.sqrt(Math.max(number, 0)));
}

/** (x_j - m) . (x_l - m) out of products x_j . x_l, where m is the average of x by shares. */
function centred(products, shares) {
  const toMean = products.map((row) => dot(row, shares));
  const mean = dot(toMean, shares);
  return (j, l) => products[j][l] - toMean[j] - toMean[l] + mean;
}

function describe({ length, words, allowed, may, weights, row }) {
  const count = allowed.filter(Boolean).length;
  return `${count} of ${length * length} pairs may attend. Row ${row}, “${words[row]}”, `
    + `${lookOf(words, weights[row], words.filter((_, j) => may(row, j)).length)} `
    + seersOf(words.filter((_, i) => words.some((__, j) => j > i && may(i, j))).length);
}

function lookOf(words, shares, keys) {
  if (!keys) return "may attend to nothing: its weights and its output are zeros.";
  const best = mostAt(words, shares, keys);
  const most = `${best} (${Math.max(...shares).toFixed(2)}).`;
  if (best === `${keys} keys alike`) return `looks at ${most}`;
  return keys === 1 ? `looks at 1 key only: ${most}` : `looks at ${keys} keys, most at ${most}`;
}

function seersOf(count) {
  if (!count) return "No query sees the future.";
  return count === 1 ? "1 query sees the future." : `${count} queries see the future.`;
}

// ---- the pictures ----------------------------------------------------------------------

function drawMask(canvas, { words, row, column, may, weights }, { ink, paper }) {
  const hatch = hatching(canvas.getContext("2d"), ink, paper);
  const cellAt = (i, j) => ({
    fill: may(i, j) ? weightHex(weights[i][j]) : hatch,
    text: may(i, j) ? weights[i][j].toFixed(2) : "",
    ink: may(i, j) ? null : ink,
    frame: i === row && j === column,
  });
  drawGrid(canvas, { rows: words, columns: words, row, column, ink, cellAt });
}

function drawLeak(canvas, { words, row, influence }, { ink, paper }) {
  const most = Math.max(...influence.flat()) || 1;
  const cellAt = (i, j) => {
    const size = influence[i][j];
    const fill = j > i ? THEME.warning : weightHex(size / most);
    return size > 0 ? { fill, text: short(size) } : { fill: paper };
  };
  drawGrid(canvas, { rows: words, columns: words, row, ink, cellAt });
}

function short(size) {
  return size < 9.995 ? size.toFixed(2) : size.toFixed(0);
}

function maskLabel(state) {
  const { row, column, words, may, weights } = state;
  const cell = may(row, column) ? `may attend, weight ${weights[row][column].toFixed(2)}` : "forbidden";
  return `Mask, queries by keys. Row ${row}, “${words[row]}”, column ${column}, `
    + `“${words[column]}”: ${cell}. Space changes it. ${describe(state)}`;
}

function leakLabel({ row, words, influence }) {
  const found = words.map((word, j) => [influence[row][j], `“${word}” ${short(influence[row][j])}`]);
  const parts = found.filter(([size]) => size > 0).map(([, text]) => text);
  return `Leak map. The output of row ${row}, “${words[row]}”, depends on `
    + `${parts.join(", ") || "no token"}.`;
}

/** The whole mask as one dialect writes it; only cells that changed are written. */
function dialectTable({ name, where, write }, length) {
  const cells = Array.from({ length: length * length }, () => element("td"));
  const lines = Array.from({ length }, (_, i) =>
    element("tr", {}, ...cells.slice(i * length, (i + 1) * length)));
  const caption = element("p", { class: "mha-hint" }, element("b", {}, name), element("br"), where);
  const table = element("table", { class: "mha-bits", "aria-label": `${where}: ${name}` },
    element("tbody", {}, ...lines));
  table.style.maxWidth = `${24 * length}px`;
  const node = element("div", {}, caption, table);
  let shown = [];
  return {
    node,
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

// ---- painting --------------------------------------------------------------------------

function presetButton(view, name) {
  const { model } = view;
  const mask = () => {
    const [length] = model.get("shape");
    return Array.from({ length: length * length }, (_, at) =>
      PRESETS[name](Math.floor(at / length), at % length, length));
  };
  const isOn = () => mask().every((may, at) => may === model.get("allowed")[at]);
  return button(view, name, () => setTrait(model, "allowed", mask()), ["allowed"], isOn);
}

function paint(model, row, column, may) {
  const at = row * model.get("shape")[0] + column;
  setTrait(model, "row", row);
  setTrait(model, "column", column);
  if (model.get("allowed")[at] === may) return;
  setTrait(model, "allowed", model.get("allowed").with(at, may));
}

function isAllowed(model, row, column) {
  return model.get("allowed")[row * model.get("shape")[0] + column];
}

/** The first cell is turned around; a drag gives the same to all cells on its way. */
function paintWithPointer(view, canvas) {
  const { model } = view;
  let may = true;
  canvas.style.touchAction = "none";
  canvas.addEventListener("pointerdown", view.guarded((event) => {
    const cell = cellUnder(canvas, event);
    if (!cell) return;
    may = !isAllowed(model, ...cell);
    canvas.setPointerCapture?.(event.pointerId);
    paint(model, ...cell, may);
  }));
  canvas.addEventListener("pointermove", view.guarded((event) => {
    const cell = event.buttons ? cellUnder(canvas, event) : null;
    if (cell) paint(model, ...cell, may);
  }));
}

function paintWithKeys(view, canvas) {
  const { model } = view;
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  canvas.addEventListener("keydown", view.guarded((event) => {
    const [row, column] = [model.get("row"), model.get("column")];
    const inside = (place) => Math.max(Math.min(place, model.get("shape")[0] - 1), 0);
    if (event.key === " ") paint(model, row, column, !isAllowed(model, row, column));
    else if (!(event.key in steps)) return;
    else {
      setTrait(model, "row", inside(row + steps[event.key][0]));
      setTrait(model, "column", inside(column + steps[event.key][1]));
    }
    event.preventDefault();
  }));
}
