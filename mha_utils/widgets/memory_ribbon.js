import {
  element, framed, inkOn, liveSentence, mountView, pageColours, picture, prepare, radios,
  setTrait, slider, watchTheme, watchWidth,
} from "./base.js";

const [CELL, GUTTER, WIDTH] = [24, 34, 880]; // CSS pixels
const FLIGHT = 450; // milliseconds that a number takes to its new place
const SIZES = ["batch_size", "seq_len", "num_heads", "head_dim"];
const CHOSEN = ["sequence", "token", "head", "column"];

// Each step does to the tensor of `start` what `code` says, as in memory_ribbon.py.
const STEPS = {
  x: { start: "x", code: "x", letters: "B T D", apply: (x) => x },
  view: {
    start: "x", code: "x.view(B, T, H, Dh)", letters: "B T H Dh",
    apply: (x, B, T, H, Dh) => view(x, [B, T, H, Dh]),
  },
  transpose: {
    start: "view", code: "x.view(B, T, H, Dh).transpose(1, 2)", letters: "B H T Dh",
    apply: (byToken) => transpose(byToken, 1, 2),
  },
  contiguous: {
    start: "transpose", code: "x.view(B, T, H, Dh).transpose(1, 2).contiguous()",
    letters: "B H T Dh", apply: (heads) => contiguous(heads),
  },
  "wrong view": {
    start: "x", code: "x.view(B, H, T, Dh)", letters: "B H T Dh",
    apply: (x, B, T, H, Dh) => view(x, [B, H, T, Dh]),
  },
  merge: {
    start: "contiguous", code: "heads.transpose(1, 2).reshape(B, T, D)", letters: "B T D",
    apply: (heads, B, T, H, Dh) => reshape(transpose(heads, 1, 2), [B, T, H * Dh]),
  },
  "wrong merge": {
    start: "contiguous", code: "heads.contiguous().view(B, T, D)", letters: "B T D",
    apply: (heads, B, T, H, Dh) => view(contiguous(heads), [B, T, H * Dh]),
  },
};
const RIGHT = { "wrong view": "transpose", "wrong merge": "merge" };

export default { render: ({ model, el }) => mountView(model, el, buildMemoryRibbon) };

function buildMemoryRibbon(view) {
  const { model, body } = view;
  const [ribbon, tensor] = [picture("storage"), picture("tensor")];
  const nodes = {
    finding: liveSentence(),
    legend: element("p", { class: "mha-legend" }),
    code: element("p", { class: "mha-caption" }),
    table: element("table", { class: "mha-sums" }),
    bytes: element("p", { class: "mha-hint" }),
  };
  body.append(
    radios(view, "step", "step", model.get("steps")),
    element("div", { class: "mha-controls" },
      slider(view, "B sequences", "batch_size", { min: 1, max: 2 }),
      slider(view, "T tokens", "seq_len", { min: 1, max: 6 }),
      slider(view, "H heads", "num_heads", { min: 1, max: 4 }),
      slider(view, "Dh columns", "head_dim", { min: 1, max: 4 })),
    nodes.finding, nodes.legend,
    element("p", { class: "mha-caption" }, "The storage, place by place:"), ribbon, nodes.code,
    element("div", { class: "mha-panels" },
      tensor, element("div", {}, nodes.table, nodes.bytes)),
    element("p", { class: "mha-hint" },
      "Pointer or arrow keys on either picture: choose a number and see where it is in both."));

  const shown = {};
  const draw = framed(view, () => {
    const state = read(model);
    const width = Math.min(body.clientWidth || WIDTH, WIDTH);
    const plans = { ribbon: planRibbon(state, width), tensor: planTensor(state, width) };
    fly(shown, state, plans);
    const colours = pageColours(body);
    const share = flown(shown);
    drawNumbers(ribbon, plans.ribbon, shown.from?.ribbon, share, state, colours);
    drawNumbers(tensor, plans.tensor, shown.from?.tensor, share, state, colours);
    if (share < 1) draw();
    if (shown.sentence === (shown.sentence = describe(state))) return;
    write(nodes, state);
    nodes.finding.textContent = shown.sentence;
    ribbon.setAttribute("aria-label", `Storage of ${state.size} numbers. ${shown.sentence}`);
    tensor.setAttribute("aria-label", `Tensor ${state.code}. ${shown.sentence}`);
  });
  chooseWithPointer(view, ribbon);
  chooseWithPointer(view, tensor);
  chooseWithKeys(view, ribbon, (state) => [state.tensor.storage, ribbon.plan.columns]);
  chooseWithKeys(view, tensor, (state) => [state.values, state.tensor.shape.at(-1)]);
  view.onChange(["step", ...SIZES, ...CHOSEN], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

// ---- a tensor as torch keeps it: shape, strides, storage (strided.py) ------------------

function rowMajor(shape) {
  return shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1));
}

function isContiguous({ shape, strides }) {
  return rowMajor(shape).every((stride, d) => shape[d] === 1 || strides[d] === stride);
}

function view(tensor, shape) {
  return { shape, strides: viewStrides(tensor, shape), storage: tensor.storage };
}

function reshape(tensor, shape) {
  return view(viewStrides(tensor, shape) ? tensor : contiguous(tensor), shape);
}

/** The strides that read the storage with another shape, or null. */
function viewStrides(tensor, shape) {
  const [strides, wanted] = [[], [...shape]];
  for (const [size, stride] of piecesOf(tensor).reverse()) {
    let taken = 1;
    while (wanted.length && (taken < size || wanted.at(-1) === 1)) {
      strides.unshift(taken * stride);
      taken *= wanted.pop();
    }
    if (taken !== size) return null;
  }
  return strides;
}

/** Neighbouring dimensions that lie in memory as one, as [size, stride]. */
function piecesOf({ shape, strides }) {
  const pieces = [];
  shape.forEach((size, d) => {
    const last = pieces.at(-1);
    if (size === 1) return;
    if (last?.[1] === size * strides[d]) pieces.splice(-1, 1, [last[0] * size, strides[d]]);
    else pieces.push([size, strides[d]]);
  });
  return pieces.length ? pieces : [[1, 1]];
}

function transpose({ shape, strides, storage }, a, b) {
  const swap = (list) => list.map((_, d) => list[d === a ? b : d === b ? a : d]);
  return { shape: swap(shape), strides: swap(strides), storage };
}

function contiguous(tensor) {
  return isContiguous(tensor) ? tensor : packed(valuesOf(tensor), tensor.shape);
}

function packed(storage, shape) {
  return { shape, strides: rowMajor(shape), storage };
}

/** The index of the element that comes `n`th when the last dimension runs fastest. */
function indexOf(n, shape, strides = rowMajor(shape)) {
  return shape.map((size, d) => Math.floor(n / strides[d]) % size);
}

function placeOf(index, strides) {
  return index.reduce((sum, i, d) => sum + i * strides[d], 0);
}

function valuesOf({ shape, strides, storage }) {
  const steps = rowMajor(shape);
  return storage.map((_, n) => storage[placeOf(indexOf(n, shape, steps), strides)]);
}

// ---- the state -------------------------------------------------------------------------

function layOut(step, sizes) {
  const [B, T, H, Dh] = sizes;
  const numbers = Array.from({ length: B * T * H * Dh }, (_, n) => n);
  if (step === "x") return packed(numbers, [B, T, H * Dh]);
  return STEPS[step].apply(layOut(STEPS[step].start, sizes), B, T, H, Dh);
}

function read(model) {
  const sizes = SIZES.map((name) => model.get(name));
  const chosen = CHOSEN.map((name, d) => Math.min(model.get(name), sizes[d] - 1));
  const step = model.get("step");
  const tensor = layOut(step, sizes);
  const values = valuesOf(tensor);
  const steps = rowMajor(sizes);
  const number = placeOf(chosen, steps);
  const index = indexOf(values.indexOf(number), tensor.shape);
  const before = layOut(STEPS[step].start, sizes).storage;
  return {
    ...STEPS[step], step, sizes, chosen, tensor, values, number, index,
    size: values.length,
    place: placeOf(index, tensor.strides),
    origins: values.map((_, n) => indexOf(n, sizes, steps)),
    moved: tensor.storage.some((n, place) => n !== before[place]),
    isRight: valuesOf(layOut(RIGHT[step] ?? step, sizes)).every((n, i) => n === values[i]),
  };
}

function describe(state) {
  const { step, index, place, chosen: [b, t, h] } = state;
  const { shape, strides } = state.tensor;
  const order = isContiguous(state.tensor) ? "contiguous" : "not contiguous";
  const moved = state.moved ? "the numbers were copied into a new order" : "no number moved";
  const where = state.sizes[0] > 1 ? ` in sequence ${b}` : "";
  return `${step === "x" ? "x" : `After ${step}`}: shape (${shape.join(", ")}), `
    + `strides (${strides.join(", ")}), ${order}${step === "x" ? "" : `; ${moved}`}. `
    + `${verdict(state)}Element [${index.join(", ")}] is at place ${place} of the storage: `
    + `token ${t} of head ${h}${where}.`;
}

function verdict({ step, isRight, values, origins, sizes: [, T, H, Dh] }) {
  if (!(step in RIGHT)) return "";
  if (isRight) return "With one token or one head the numbers come out right all the same. ";
  const byHead = step === "wrong view";
  const first = values.slice(0, (byHead ? T : H) * Dh).map((n) => origins[n]);
  const [tokens, heads] = [1, 2].map((d) => [...new Set(first.map((o) => o[d]))].sort());
  return `Right shape, wrong numbers: the ${byHead ? "block of head 0" : "row of token 0"} holds `
    + `${listed("token", tokens)} of ${listed("head", heads)}. `;
}

function listed(noun, numbers) {
  const most = numbers.slice(0, -1);
  return most.length
    ? `${noun}s ${most.join(", ")} and ${numbers.at(-1)}` : `${noun} ${numbers[0]}`;
}

// ---- where each number stands: `places[number]` is [x, y] ------------------------------

/** Whole tokens in each line, so that a line has the same length in every step. */
function planRibbon({ sizes: [B, T, H, Dh], tensor: { storage } }, width) {
  const token = H * Dh;
  const fitting = Math.max(Math.floor((width - GUTTER) / CELL / token), 1);
  const columns = token * Math.min(fitting, T);
  const lines = Math.ceil((T * token) / columns);
  const plan = { places: [], labels: [], columns, width, height: B * lines * (CELL + 4) + (B - 1) * 8 };
  storage.forEach((number, place) => {
    const [b, within] = [Math.floor(place / (T * token)), place % (T * token)];
    const [line, column] = [Math.floor(within / columns), within % columns];
    const y = (b * lines + line) * (CELL + 4) + b * 8;
    plan.places[number] = [GUTTER + column * CELL, y];
    if (!column) plan.labels.push({ text: place, x: GUTTER - 7, y: y + CELL / 2, align: "right" });
  });
  return plan;
}

/** A block for each index before the last two dimensions; a line of blocks per sequence. */
function planTensor(state, width) {
  const { tensor: { shape }, values, letters } = state;
  const [rows, columns] = shape.slice(-2);
  const perSequence = shape.length === 4 ? shape[1] : 1;
  const pitch = Math.max(columns * CELL, 80) + 14;
  const plan = {
    places: [], labels: [], height: shape[0] * (rows * CELL + 30),
    width: Math.min(GUTTER + perSequence * pitch, width),
  };
  values.forEach((number, n) => {
    const [block, row, column] = indexOf(n, [shape[0] * perSequence, rows, columns]);
    const [b, i] = [Math.floor(block / perSequence), block % perSequence];
    const [x, y] = [GUTTER + i * pitch, b * (rows * CELL + 30) + 22];
    plan.places[number] = [x + column * CELL, y + row * CELL];
    if (!row && !column) plan.labels.push({ text: blockName(letters, b, i), x, y: y - 10 });
    if (!column && !i) {
      plan.labels.push({ text: row, x: GUTTER - 7, y: y + (row + 0.5) * CELL, align: "right" });
    }
  });
  return plan;
}

function blockName(letters, b, i) {
  const names = { "B T D": "", "B T H Dh": `, ${i}] token ${i}`, "B H T Dh": `, ${i}] head ${i}` };
  return `[${b}${names[letters] || `] sequence ${b}`}`;
}

// ---- drawing ---------------------------------------------------------------------------

/** After another step the numbers travel from where they stood; other changes are at once. */
function fly(shown, { step, sizes }, plans) {
  const key = sizes.join();
  if (shown.step !== undefined && shown.step !== step && shown.key === key) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    Object.assign(shown, { from: shown.plans, start: still ? -Infinity : performance.now() });
  } else if (shown.key !== key) {
    shown.from = null;
  }
  Object.assign(shown, { step, key, plans });
}

function flown({ from, start }) {
  const share = from ? Math.min((performance.now() - start) / FLIGHT, 1) : 1;
  return share * share * (3 - 2 * share);
}

function drawNumbers(canvas, plan, from, share, state, { ink, paper }) {
  const context = prepare(canvas, plan.width, plan.height);
  canvas.plan = plan;
  context.textBaseline = "middle";
  context.font = "12px sans-serif";
  context.fillStyle = ink;
  for (const { text, x, y, align = "left" } of plan.labels) {
    context.textAlign = align;
    context.fillText(text, x, y);
  }
  context.textAlign = "center";
  const at = (number) => plan.places[number].map((end, d) =>
    share < 1 ? from.places[number][d] * (1 - share) + end * share : end);
  state.origins.forEach(([, token, head], number) => {
    const [x, y] = at(number);
    context.fillStyle = THEME.heads[head];
    context.fillRect(x, y, CELL - 2, CELL - 2);
    context.fillStyle = inkOn(THEME.heads[head]);
    context.fillText(token, x + CELL / 2 - 1, y + CELL / 2);
  });
  mark(context, at(state.number), ink, paper);
}

function mark(context, [x, y], ink, paper) {
  context.lineWidth = 3;
  context.strokeStyle = ink;
  context.strokeRect(x + 0.5, y + 0.5, CELL - 3, CELL - 3);
  context.lineWidth = 1.5;
  context.strokeStyle = paper;
  context.strokeRect(x + 2.5, y + 2.5, CELL - 7, CELL - 7);
}

/** The numbers behind the place, as a table; its cells are made once and then refilled. */
function write(nodes, state) {
  const { letters, index, place, code, moved, tensor: { shape, strides } } = state;
  const lines = [
    ["dimension", ...letters.split(" "), ""],
    ["shape", ...shape, ""],
    ["stride", ...strides, ""],
    ["index", ...index, ""],
    ["index × stride", ...index.map((i, d) => i * strides[d]), `sum ${place} = place`],
  ];
  if (nodes.table.rows[0]?.cells.length !== lines[0].length) makeRows(nodes.table, lines);
  say(nodes.table.caption, `Element [${index.join(", ")}]: where is it in the storage?`);
  lines.forEach((line, r) => line.forEach((text, c) => say(nodes.table.rows[r].cells[c], text)));
  say(nodes.bytes, `is_contiguous() is ${isContiguous(state.tensor) ? "True" : "False"}; `
    + (moved ? `bytes moved: ${state.size} numbers were copied.` : "no bytes moved."));
  say(nodes.code, `The tensor ${code}:`);
  if (nodes.legend.querySelectorAll("span").length !== state.sizes[2]) {
    nodes.legend.replaceChildren("Colour: the head that a number belongs to (",
      ...swatches(state.sizes[2]), "). Number: its token.");
  }
}

function makeRows(table, lines) {
  const rows = lines.map(([, ...cells]) => element("tr", {},
    element("th", { scope: "row" }), ...cells.map(() => element("td"))));
  rows.at(-1).className = "mha-total";
  table.replaceChildren(element("caption"), ...rows);
}

function say(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

function swatches(count) {
  return Array.from({ length: count }, (_, h) => [
    element("span", { class: "mha-swatch", style: `background: ${THEME.heads[h]}` }),
    `${h}${h < count - 1 ? " " : ""}`,
  ]).flat();
}

// ---- choosing --------------------------------------------------------------------------

function choose(view, number) {
  const { origins } = read(view.model);
  CHOSEN.forEach((name, d) => setTrait(view.model, name, origins[number][d]));
}

function chooseWithPointer(view, canvas) {
  const look = view.guarded((event) => {
    const number = canvas.plan.places.findIndex(([x, y]) =>
      event.offsetX >= x && event.offsetX < x + CELL && event.offsetY >= y && event.offsetY < y + CELL);
    if (number >= 0) choose(view, number);
  });
  canvas.addEventListener("pointermove", look);
  canvas.addEventListener("pointerdown", look);
}

/** Arrow keys walk through `numbers`, a list in reading order with so many in a line. */
function chooseWithKeys(view, canvas, walk) {
  canvas.addEventListener("keydown", view.guarded((event) => {
    const state = read(view.model);
    const [numbers, columns] = walk(state);
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = numbers[numbers.indexOf(state.number) + steps[event.key]];
    if (next !== undefined) choose(view, next);
  }));
}
