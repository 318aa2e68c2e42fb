import {
  button, cellUnder, checkbox, choice, dot, drawGrid, element, floats, framed, hatching,
  liveSentence, mountView, pageColours, picture, rowsOf, setTrait, signedHex, slider, softmax,
  watchTheme, watchWidth, weightHex,
} from "./base.js";

const STEPS = ["products", "sum", "scale", "mask", "softmax", "times v"];
const LISTED = 4;

export default { render: ({ model, el }) => mountView(model, el, buildCellSteps) };

function buildCellSteps(view) {
  const { model, body } = view;
  const map = picture("scores");
  const [finding, title, name] = [liveSentence(), caption(), caption()];
  const tables = [productsTable, maskTable, softmaxTable, valuesTable].map(liveTable);
  body.append(
    element("div", { class: "mha-controls" }, stepper(view),
      ...["query", "key"].map((trait) => choice(view, trait, trait,
        model.get("words").map((word, place) => `${place} ${word}`))),
      checkbox(view, "causal", "is_causal")),
    finding,
    element("div", { class: "mha-halves" },
      element("div", {}, name, map, element("p", { class: "mha-hint" },
        "Click a cell, or move with the arrow keys: query (row) and key (column).")),
      element("div", {}, title, element("div", { class: "mha-stack" },
        ...tables.map(({ node }) => node)))));

  let sent = read(model);
  const draw = framed(view, () => {
    const state = compute(model, sent);
    drawMap(map, state, pageColours(body));
    name.textContent = MAPS[state.step - 1];
    title.textContent = titleOf(state);
    tables.forEach(({ show }, at) => show(at === Math.max(state.step - 3, 0), state));
    const sentence = describe(state);
    if (finding.textContent !== sentence) finding.textContent = sentence;
    map.setAttribute("aria-label", `${name.textContent}, queries by keys. ${sentence}`);
  });
  chooseWithPointer(view, map);
  chooseWithKeys(view, map);
  view.onChange(["q", "k", "v"], () => (sent = read(model)));
  view.onChange(["query", "key", "step", "is_causal", "allowed", "q", "k", "v"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

function caption() {
  return element("p", { class: "mha-caption" });
}

/** Previous, a slider, next. */
function stepper(view) {
  const move = (by) => () => setTrait(view.model, "step", place(view.model.get("step") + by, 1, 6));
  const node = slider(view, "step", "step", {
    min: 1, max: STEPS.length, format: (step) => `${step} · ${STEPS[step - 1]}`,
  });
  node.querySelector("input").before(button(view, "‹ previous", move(-1)));
  node.querySelector("output").before(button(view, "next ›", move(1)));
  node.querySelector("output").style.minWidth = "6.5em";
  return node;
}

// ---- the numbers -----------------------------------------------------------------------

function read(model) {
  const [, headDim, valueDim] = model.get("shape");
  const [q, k, v] = ["q", "k", "v"].map((name) =>
    rowsOf(floats(model.get(name)), name === "v" ? valueDim : headDim));
  return { q, k, v, sums: q.map((query) => k.map((key) => dot(query, key))) };
}

/** Every number of the present query, as in `numbers_of` of Python, and the map. */
function compute(model, { q, k, v, sums } = read(model)) {
  const [length, headDim] = model.get("shape");
  const [i, j] = ["query", "key"].map((name) => place(model.get(name), 0, length - 1));
  const step = place(model.get("step"), 1, STEPS.length);
  const may = (row, column) => model.get("allowed")[row * length + column]
    && !(model.get("is_causal") && column > row);
  const scoresOf = (row) => sums[row].map((sum) => sum / Math.sqrt(headDim));
  const weightsOf = (row) => softmax(scoresOf(row), (column) => may(row, column));
  const scores = scoresOf(i);
  const masked = scores.map((score, column) => (may(i, column) ? score : -Infinity));
  const largest = Math.max(...masked);
  const lowered = masked.map((score) => (score === -Infinity ? score : score - largest));
  const weights = weightsOf(i);
  const parts = weights.map((weight, row) => v[row].map((value) => weight * value));
  const out = parts[0].map((_, d) => total(parts.map((part) => part[d])));
  const mapRow = step <= 2 ? (row) => sums[row] : step <= 4 ? scoresOf : weightsOf;
  return {
    words: model.get("words"), length, headDim, i, j, step, may, query: q[i], key: k[j],
    products: q[i].map((x, d) => x * k[j][d]), scores, masked, lowered,
    powers: lowered.map(Math.exp), weights, values: v, parts, out, map: sums.map((_, row) => mapRow(row)),
  };
}

function place(value, least, most) {
  return Math.max(Math.min(value, most), least);
}

function total(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}

/** With so many decimals; a minus is a minus and 0 has none. */
function fixed(number, digits = 2) {
  if (number === -Infinity) return "−∞";
  const text = number.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

/** A column of numbers: whole ones without decimals, all others with four. */
function aligned(numbers) {
  const four = numbers.map((number) => fixed(number, 4));
  const isWhole = four.every((text) => text.endsWith(".0000") || text.endsWith("∞"));
  return isWhole ? four.map((text) => text.replace(".0000", "")) : four;
}

function describe(state) {
  const { words, length, headDim, i, j, step, products, scores, masked, weights, out, may } = state;
  const [score, product] = [fixed(scores[j]), fixed(total(products))];
  const most = fixed(Math.max(...products.map(Math.abs)));
  const forbidden = masked[j] === -Infinity;
  const quotient = `${product} / √${headDim} = ${score}`;
  const weight = `${quotient}${forbidden ? ", forbidden" : ""}, weight ${fixed(weights[j])}.`;
  const allowed = words.filter((_, column) => may(i, column)).length;
  const listed = out.slice(0, LISTED).map((x) => fixed(x)).join(", ");
  const known = [
    `${headDim} product${headDim > 1 ? "s" : ""}, the largest in size ${most}.`,
    `the products sum to ${product}.`,
    `${quotient}.`,
    `${score}, ${forbidden ? "forbidden, so it becomes −∞" : "allowed"}. `
      + `${allowed} of ${length} keys are allowed.`,
    weight,
    `${weight} Output: ${listed}${out.length > LISTED ? ", …" : "."}`,
  ][step - 1];
  return `Step ${step} of 6, ${STEPS[step - 1]}. “${words[i]}” · “${words[j]}”: ${known}`;
}

// ---- the picture -----------------------------------------------------------------------

const MAPS = [
  "The cell we want", "q · k", "Scores q · k / √Dh", "Scores, masked", "Weights", "Weights",
];

/** Only what is known after the present step; hatched: forbidden. */
function drawMap(canvas, state, { ink, paper }) {
  const { words, i, j, step, map, may } = state;
  const hatch = hatching(canvas.getContext("2d"), ink, paper);
  const most = Math.max(...map.flat().map(Math.abs)) || 1;
  const cellAt = (row, column) => {
    const [number, frame] = [map[row][column], row === i && column === j];
    if (step === 1) return { fill: signedHex(0), text: frame ? "?" : "", frame };
    if (step >= 4 && !may(row, column)) return { fill: hatch, ink, frame };
    if (step >= 5) return { fill: weightHex(number), text: fixed(number), frame };
    return { fill: signedHex(number / most), text: trimmed(number), frame };
  };
  drawGrid(canvas, { rows: words, columns: words, row: i, column: j, ink, cellAt });
}

function trimmed(number) {
  return fixed(number).replace(/\.?0*$/, "");
}

// ---- the table -------------------------------------------------------------------------

function titleOf({ words, i, j, step }) {
  if (step <= 3) return `Query “${words[i]}” meets key “${words[j]}”`;
  return step === 6 ? `Weights times values: the output row of “${words[i]}”`
    : `Query “${words[i]}” and all keys`;
}

function productsTable({ headDim, query, key, products, scores, j, step }) {
  const names = [...query.map((_, d) => String(d)), "sum = q · k", `÷ √${headDim} = score`];
  const rows = rowsFrom(names, [...aligned(query), "", ""], [...aligned(key), "", ""],
    aligned([...products, total(products), scores[j]]));
  return { header: ["d", "q", "k", "q × k"], rows, totals: 2, known: headDim + step - 1 };
}

function maskTable({ words, scores, masked, j }) {
  const rows = rowsFrom(words, aligned(scores), aligned(masked));
  return { header: ["key", "score", "after the mask"], rows, chosen: j };
}

function softmaxTable({ words, masked, lowered, powers, weights, j }) {
  const summed = (numbers) => aligned([...numbers, total(numbers)]);
  const rows = rowsFrom([...words, "sum"], [...aligned(masked), ""], [...aligned(lowered), ""],
    summed(powers), summed(weights));
  return { header: ["key", "score", "− largest", "exp", "÷ sum = weight"], rows, totals: 1, chosen: j };
}

/** A result in its own line below where it comes from. */
function valuesTable({ words, weights, values, parts, out, j }) {
  const shares = aligned(weights);
  const columns = out.map((sum, d) => {
    const factors = aligned(values.map((value) => value[d]));
    const products = aligned([...parts.map((part) => part[d]), sum]);
    return products.map((product, row) =>
      (row < words.length ? `${shares[row]} × ${factors[row]} =\n${product}` : product));
  });
  const rows = rowsFrom([...words, "sum = out"], [...shares, ""], ...columns);
  return { header: ["key", "weight", ...out.map((_, d) => `× v[${d}]`)], rows, totals: 1, chosen: j };
}

function rowsFrom(...columns) {
  return columns[0].map((_, row) => columns.map((column) => column[row]));
}

/**
 * A table that keeps its cells and writes only what has changed. All tables lie in one place;
 * those of other steps are hidden but laid out, so that a step is drawn at once.
 */
function liveTable(contentsOf) {
  const table = element("table", { class: "mha-sums" });
  const node = element("div", { class: "mha-scroll", role: "region", tabindex: "0",
    "aria-label": "numbers of this step" }, table);
  let lines = null;
  const write = ({ header, rows, totals = 0, known = rows.length, chosen = -1 }) => {
    lines ??= addLines(table, header, rows, totals);
    lines.forEach(({ line, cells }, row) => {
      line.classList.toggle("mha-chosen", row === chosen);
      line.style.visibility = row < known ? "" : "hidden";
      cells.forEach((cell, column) => {
        if (cell.data !== rows[row][column]) cell.data = rows[row][column];
      });
    });
  };
  return {
    node,
    show(isOn, state) {
      node.style.visibility = isOn ? "" : "hidden";
      if (isOn || !lines) write(contentsOf(state));
    },
  };
}

/** The rows of a table as text nodes that can be written to. */
function addLines(table, header, rows, totals) {
  table.append(element("tr", {}, ...header.map((text) => element("th", { scope: "col" }, text))));
  return rows.map((texts, row) => {
    const cells = texts.map((text) => document.createTextNode(text));
    const line = element("tr", row >= rows.length - totals ? { class: "mha-total" } : {},
      ...cells.map((cell, at) => (at ? element("td", {}, cell) : element("th", { scope: "row" }, cell))));
    table.append(line);
    return { line, cells };
  });
}

// ---- choosing --------------------------------------------------------------------------

function choose(model, cell) {
  if (!cell) return;
  setTrait(model, "query", cell[0]);
  setTrait(model, "key", cell[1]);
}

function chooseWithPointer(view, canvas) {
  const pick = view.guarded((event) => choose(view.model, cellUnder(canvas, event)));
  canvas.addEventListener("pointerdown", pick);
  canvas.addEventListener("pointermove", (event) => event.buttons && pick(event));
}

function chooseWithKeys(view, canvas) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  canvas.addEventListener("keydown", view.guarded((event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [down, right] = steps[event.key];
    const last = view.model.get("shape")[0] - 1;
    const { model } = view;
    choose(model, [place(model.get("query") + down, 0, last), place(model.get("key") + right, 0, last)]);
  }));
}
