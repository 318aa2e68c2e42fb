import {
  attentionScores, attentionWeights, checkbox, css, divisors, element, floats, framed, hatching,
  listSlider, liveSentence, mountView, pageColours, paletteColour, picture, prepare, setTrait,
  slider, watchTheme, watchWidth,
} from "./base.js";

const [LENGTH, WIDTH, DIMS] = [12, 24, [4, 6, 8, 12, 16, 24]]; // as in pipeline.py
const HIDDEN = [170, 170, 170]; // the colour of −∞ in a small picture
const [ROOM, LEFT, TOP, TALL] = [912, 30, 44, 30]; // width, margins, row height of the large picture

// name: letters of the shape, what makes it, column and row in the picture
const TENSORS = {
  x: ["B T D", "the tokens", 0, 1],
  q: ["B T D", "q_proj(x)", 1, 0],
  k: ["B T D", "k_proj(x)", 1, 1],
  v: ["B T D", "v_proj(x)", 1, 2],
  "q by head": ["B H T Dh", "split, transpose", 2, 0],
  "k by head": ["B H T Dh", "split, transpose", 2, 1],
  "v by head": ["B H T Dh", "split, transpose", 2, 2],
  scores: ["B H T T", "q kᵀ / √Dh", 3, 1],
  masked: ["B H T T", "mask", 4, 1],
  weights: ["B H T T", "softmax", 4, 3],
  dropped: ["B H T T", "dropout", 3, 3],
  heads: ["B H T Dh", "dropped · v", 2, 3],
  merged: ["B T D", "transpose, concat", 1, 3],
  out: ["B T D", "out_proj(merged)", 0, 3],
};
const NAMES = Object.keys(TENSORS);
const ARROWS = [
  ["x", "q"], ["x", "k"], ["x", "v"], ["q", "q by head"], ["k", "k by head"], ["v", "v by head"],
  ["q by head", "scores"], ["k by head", "scores"], ["scores", "masked"], ["masked", "weights"],
  ["weights", "dropped"], ["dropped", "heads"], ["v by head", "heads"], ["heads", "merged"],
  ["merged", "out"],
];
const SHARES = ["weights", "dropped"];
const HEADS_IN_COLUMNS = ["q", "k", "v", "merged"];
const STATE = [
  "batch_size", "seq_len", "embed_dim", "num_heads", "causal", "dropout", "tensor", "sequence",
  "head", "row", "column",
];

export default { render: ({ model, el }) => mountView(model, el, buildPipeline) };

function buildPipeline(view) {
  const { model, body } = view;
  const [chain, map, finding] = [tensorChain(view), picture("numbers"), liveSentence()];
  const reading = element("p", { class: "mha-hint" });
  const heads = listSlider(view, "H heads", "num_heads", () => divisors(model.get("embed_dim")));
  const sequence = slider(view, "sequence", "sequence",
    () => ({ min: 0, max: model.get("batch_size") - 1 }));
  const head = slider(view, "head", "head", () => ({ min: 0, max: model.get("num_heads") - 1 }));
  body.append(
    element("div", { class: "mha-controls" },
      slider(view, "B sequences", "batch_size", { min: 1, max: 3 }),
      slider(view, "T tokens", "seq_len", { min: 1, max: LENGTH }),
      listSlider(view, "D columns", "embed_dim", () => DIMS), heads,
      slider(view, "p dropout", "dropout",
        { min: 0, max: 0.9, step: 0.05, format: (p) => p.toFixed(2) }),
      checkbox(view, "causal", "causal")),
    element("div", { class: "mha-scroll" }, chain.node), finding,
    element("div", { class: "mha-controls" }, sequence, head), map, reading);

  const data = readBytes(model);
  const draw = framed(view, () => {
    const state = read(model, data);
    chain.show(state, pageColours(body));
    drawMap(map, state, Math.min(body.clientWidth || ROOM, ROOM), pageColours(body));
    head.querySelector("input").disabled = !state.hasHeads;
    reading.textContent = readOut(state);
    finding.textContent = describe(state);
    map.setAttribute("aria-label", `${title(state)}. ${reading.textContent} ${finding.textContent}`);
  });
  view.onChange(["embed_dim"], () => {
    const [d, h] = [model.get("embed_dim"), model.get("num_heads")];
    if (d % h) setTrait(model, "num_heads", divisors(d).filter((n) => n <= h).at(-1));
    heads.update();
  });
  view.onChange(["batch_size"], sequence.update);
  view.onChange(["num_heads"], head.update);
  view.onChange(STATE, draw);
  chooseCell(view, map);
  watchTheme(view, draw);
  watchWidth(view, body, () => {
    chain.forgetPlaces();
    draw();
  });
  draw();
}

// ---- the forward pass ------------------------------------------------------------------

function readBytes(model) {
  const names = ["inputs", "matrices", "biases", "uniforms"];
  return Object.fromEntries(names.map((name) => [name, floats(model.get(name))]));
}

function sizesOf(model) {
  const [B, T, D, H] = ["batch_size", "seq_len", "embed_dim", "num_heads"].map((n) => model.get(n));
  return { B, T, D, H, Dh: D / H };
}

/** Every tensor as flat numbers, from x[:B, :T, :D] and the first D rows and columns. */
function forward(data, sizes, causal, p) {
  const { B, T, D, H, Dh } = sizes;
  const x = new Float32Array(B * T * D).map((_, n) => {
    const row = Math.floor(n / D); // b * T + t
    return data.inputs[(Math.floor(row / T) * LENGTH + (row % T)) * WIDTH + (n % D)];
  });
  const [q, k, v] = [0, 1, 2].map((layer) => project(data, layer, x, D));
  const [qh, kh, vh] = [q, k, v].map((y) => splitHeads(y, sizes));
  const slices = Array.from({ length: B * H }, (_, i) => i);
  const tokens = Array.from({ length: T }, (_, t) => t);
  const part = (y, i, size) => y.subarray(i * size, (i + 1) * size);
  const scores = joined(slices.map((i) =>
    attentionScores(part(qh, i, T * Dh), part(kh, i, T * Dh), tokens, Dh)));
  const weights = joined(slices.map((i) =>
    attentionWeights(part(scores, i, T * T), T, 1, causal)));
  const dropped = weights.map((w, n) => (isKept(data, n, sizes, p) ? w / (1 - p) : 0));
  const heads = joined(slices.map((i) =>
    weighted(part(dropped, i, T * T), part(vh, i, T * Dh), T, Dh)));
  const merged = mergeHeads(heads, sizes);
  return {
    x, q, k, v, "q by head": qh, "k by head": kh, "v by head": vh, scores,
    masked: scores.map((s, n) => (causal && isFuture(n, T) ? -Infinity : s)),
    weights, dropped, heads, merged, out: project(data, 3, merged, D),
  };
}

/** x W^T + b for each row of D numbers, as nn.Linear. */
function project({ matrices, biases }, layer, x, D) {
  const y = new Float32Array(x.length);
  for (let n = 0; n < y.length; n += 1) {
    const column = layer * WIDTH + (n % D);
    const start = n - (n % D);
    let sum = biases[column];
    for (let d = 0; d < D; d += 1) sum += x[start + d] * matrices[column * WIDTH + d];
    y[n] = sum;
  }
  return y;
}

/** Where in (B, T, D) the n-th number of (B, H, T, Dh) comes from. */
function source(n, { T, D, H, Dh }) {
  const b = Math.floor(n / (T * D));
  const h = Math.floor(n / (T * Dh)) % H;
  const t = Math.floor(n / Dh) % T;
  return (b * T + t) * D + h * Dh + (n % Dh);
}

function splitHeads(x, sizes) {
  return x.map((_, n) => x[source(n, sizes)]);
}

function mergeHeads(heads, sizes) {
  const merged = new Float32Array(heads.length);
  heads.forEach((value, n) => (merged[source(n, sizes)] = value));
  return merged;
}

function weighted(weights, v, T, Dh) {
  return new Float32Array(T * Dh).map((_, n) => {
    const row = Math.floor(n / Dh) * T;
    let sum = 0;
    for (let t = 0; t < T; t += 1) sum += weights[row + t] * v[t * Dh + (n % Dh)];
    return sum;
  });
}

function joined(parts) {
  const all = new Float32Array(parts.length * parts[0].length);
  parts.forEach((part, i) => all.set(part, i * part.length));
  return all;
}

function isFuture(n, T) {
  return n % T > Math.floor(n / T) % T;
}

function isKept({ uniforms }, n, { T, H }, p) {
  const slice = Math.floor(n / (T * T)); // b * H + h
  const matrix = Math.floor(slice / H) * WIDTH + (slice % H);
  const place = (matrix * LENGTH + (Math.floor(n / T) % T)) * LENGTH + (n % T);
  return uniforms[place] >= Math.fround(p);
}

// ---- the state -------------------------------------------------------------------------

function read(model, data) {
  const [sizes, name] = [sizesOf(model), model.get("tensor")];
  const [causal, p] = [model.get("causal"), model.get("dropout")];
  const key = JSON.stringify([sizes, causal, p]);
  if (data.key !== key) Object.assign(data, { key, tensors: forward(data, sizes, causal, p) });
  const sequence = Math.min(model.get("sequence"), sizes.B - 1);
  const head = Math.min(model.get("head"), sizes.H - 1);
  const shape = shapeOf(name, sizes);
  const [rows, columns] = shape.slice(-2);
  const { tensors } = data;
  return {
    sizes, name, causal, p, tensors, shape, sequence, head, rows, columns,
    hasHeads: shape.length === 4,
    row: Math.min(model.get("row"), rows - 1),
    column: Math.min(model.get("column"), columns - 1),
    matrixOf: (other) => matrixOf(tensors[other], shapeOf(other, sizes), sequence, head),
    gone: (n) => !isKept(data, n, sizes, p),
  };
}

function shapeOf(name, sizes) {
  return TENSORS[name][0].split(" ").map((letter) => sizes[letter]);
}

/** The last two dimensions at one sequence, and one head if there are heads. */
function matrixOf(tensor, shape, sequence, head) {
  const size = shape.at(-2) * shape.at(-1);
  const place = shape.length === 4 ? sequence * shape[1] + head : sequence;
  return tensor.subarray(place * size, (place + 1) * size);
}

function describe(state) {
  const letters = TENSORS[state.name][0].split(" ");
  const count = state.tensors[state.name].length;
  const times = 2 ** letters.filter((letter) => letter === "T").length;
  return `${state.name} is (${letters.join(", ")}) = (${state.shape.join(", ")}): ${count} numbers. `
    + `${fact(state)} Twice as many tokens make ${times * count}, ${times} times as many.`;
}

function fact({ name, sizes: { B, T, D, H, Dh }, causal, p, gone }) {
  const allowed = [...Array(["masked", "dropped"].includes(name) ? B * H * T * T : 0).keys()]
    .filter((n) => !causal || !isFuture(n, T));
  const project = `One product with ${name}_proj.weight, (D, D) = (${D}, ${D}), for all heads.`;
  const cut = `The numbers of ${name[0]}, cut into H = ${H} pieces of Dh = D / H = ${Dh} columns.`;
  return {
    x: "What the module gets.",
    q: project, k: project, v: project,
    "q by head": cut, "k by head": cut, "v by head": cut,
    scores: `Each query meets each key in each head: H·T·T = ${H * T * T} for a sequence.`,
    masked: causal
      ? `${B * H * T * T - allowed.length} are −∞: the future.` : "Nothing is hidden.",
    weights: `Each row of T = ${T} shares sums to 1.`,
    dropped: p
      ? `${allowed.filter(gone).length} of ${allowed.length} weights became 0, the others were divided by 1 − p.`
      : "With p = 0 nothing is dropped.",
    heads: "Each row is a sum of rows of v, each times its weight.",
    merged: "The heads side by side again.",
    out: "The shape of x again.",
  }[name];
}

function title({ name, sequence, head, hasHeads }) {
  return `${name} of sequence ${sequence}${hasHeads ? `, head ${head}` : ""}`;
}

function axes(name) {
  return TENSORS[name][0] === "B H T T" ? ["query", "key"] : ["token", "column"];
}

function readOut({ name, sequence, head, hasHeads, row, column, columns, matrixOf: matrix }) {
  const index = [sequence, ...(hasHeads ? [head] : []), row, column];
  const [rowWord, columnWord] = axes(name);
  return `${name}[${index.join(", ")}] = ${shortened(matrix(name)[row * columns + column], 4)}: `
    + `${rowWord} ${row}, ${columnWord} ${column}. Arrow keys or pointer choose a number.`;
}

function shortened(number, decimals) {
  if (number === -Infinity) return "−∞";
  const text = Math.abs(number).toFixed(decimals);
  return number < 0 && Number(text) ? `−${text}` : text;
}

// ---- the boxes -------------------------------------------------------------------------

/** One box for each tensor: a radio group with one tab stop, in the order of the data. */
function tensorChain(view) {
  const { model } = view;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const boxes = Object.fromEntries(NAMES.map((name) => [name, tensorBox(model, name)]));
  const node = element("div", { class: "mha-chain", role: "radiogroup", "aria-label": "tensor" },
    ...Object.values(boxes).map((box) => box.node), canvas);
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  node.addEventListener("keydown", view.guarded((event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    const place = NAMES.indexOf(model.get("tensor")) + steps[event.key];
    const next = NAMES[(place + NAMES.length) % NAMES.length];
    setTrait(model, "tensor", next);
    boxes[next].node.focus();
  }));
  let plan = null;
  return {
    node,
    forgetPlaces: () => (plan = null),
    show(state, colours) {
      NAMES.forEach((name) => boxes[name].show(state));
      plan ??= planChain(node, boxes);
      drawChain(canvas, plan, state, colours);
    },
  };
}

function tensorBox(model, name) {
  const [, formula, column, row] = TENSORS[name];
  const shape = element("span");
  const node = element("button", {
    type: "button", role: "radio", style: `grid-area: ${row + 1} / ${column + 1}`,
  }, element("b", {}, name), " ", element("small", {}, formula), " ", shape);
  node.addEventListener("click", () => setTrait(model, "tensor", name));
  return {
    node,
    show({ sizes, name: chosen }) {
      const text = `(${shapeOf(name, sizes).join(", ")})`;
      if (shape.textContent !== text) shape.textContent = text;
      node.setAttribute("aria-checked", String(name === chosen));
      node.tabIndex = name === chosen ? 0 : -1;
    },
  };
}

/** Where boxes and arrows are; they move only when the width changes. */
function planChain(node, boxes) {
  const [lines, tips] = [new Path2D(), new Path2D()];
  for (const [start, end] of ARROWS) addArrow(lines, tips, boxes[start].node, boxes[end].node);
  const middles = Object.fromEntries(NAMES.map((name) => [name, middle(boxes[name].node)]));
  return { lines, tips, middles, width: node.clientWidth, height: node.clientHeight };
}

/** Arrows between the boxes, and in each box its tensor, one small square for each number. */
function drawChain(canvas, plan, state, { ink }) {
  const context = prepare(canvas, plan.width, plan.height);
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 1.2;
  context.stroke(plan.lines);
  context.fill(plan.tips);
  context.imageSmoothingEnabled = false;
  const pixels = paintAtlas(state);
  NAMES.forEach((name, i) => {
    const [rows, columns] = shapeOf(name, state.sizes).slice(-2);
    const cell = Math.min(92 / columns, 36 / rows, 12);
    const [width, height] = [columns * cell, rows * cell];
    const [x, y] = plan.middles[name];
    context.drawImage(pixels, 0, i * LENGTH, columns, rows,
      x - width / 2, y + 6 - height / 2, width, height);
  });
}

/** All tensors as pixels, one below the other, `LENGTH` rows for each. */
function paintAtlas(state) {
  atlas ??= new OffscreenCanvas(WIDTH, LENGTH * NAMES.length);
  const image = new ImageData(atlas.width, atlas.height);
  const out = new Uint32Array(image.data.buffer);
  NAMES.forEach((name, i) => {
    const columns = shapeOf(name, state.sizes).at(-1);
    const { pixels } = scaleOf(name);
    levelsOf(name, state.matrixOf(name)).forEach((level, n) => {
      out[(i * LENGTH + Math.floor(n / columns)) * WIDTH + (n % columns)] = pixels[level];
    });
  });
  atlas.getContext("2d").putImageData(image, 0, 0);
  return atlas;
}

let atlas = null;

// ---- colours ---------------------------------------------------------------------------

/** Shares have one scale, numbers with a sign another: 256 colours and one for −∞. */
function scaleOf(name) {
  const palette = SHARES.includes(name) ? "weights" : "signed";
  return (scales[palette] ??= makeScale(THEME[palette]));
}

const scales = {};

function makeScale(palette) {
  const colours = Array.from({ length: 256 }, (_, i) => paletteColour(palette, i / 255));
  colours.push(HIDDEN);
  const isLight = ([red, green, blue]) => 0.299 * red + 0.587 * green + 0.114 * blue > 130;
  return {
    css: colours.map(css),
    ink: colours.map((colour) => (isLight(colour) ? "#000000" : "#ffffff")),
    pixels: new Uint32Array(Uint8Array.from(colours.flatMap((c) => [...c, 255])).buffer),
  };
}

/** For each number its place in the scale; 256 is −∞. */
function levelsOf(name, matrix) {
  let largest = 1e-9;
  for (const value of matrix) if (value !== -Infinity) largest = Math.max(largest, Math.abs(value));
  const share = SHARES.includes(name)
    ? (value) => value / Math.max(largest, 1) : (value) => 0.5 + value / largest / 2;
  return new Uint16Array(matrix.length).map((_, n) =>
    (matrix[n] === -Infinity ? 256 : Math.round(share(matrix[n]) * 255)));
}

/** Sideways from box to box between columns, downwards within one. */
function addArrow(lines, tips, from, to) {
  const [x0, y0] = middle(from);
  const [x1, y1] = middle(to);
  const side = Math.sign(x1 - x0);
  const edge = x1 - (side * to.offsetWidth) / 2;
  const points = side
    ? [[x0 + (side * from.offsetWidth) / 2, y0], [edge - side * 15, y0], [edge - side * 15, y1], [edge, y1]]
    : [[x0, from.offsetTop + from.offsetHeight], [x0, to.offsetTop]];
  points.forEach(([x, y], i) => (i ? lines.lineTo(x, y) : lines.moveTo(x, y)));
  const [x, y] = points.at(-1);
  const [dx, dy] = [side, side ? 0 : 1];
  tips.moveTo(x, y);
  tips.lineTo(x - 7 * dx - 4 * dy, y - 7 * dy - 4 * dx);
  tips.lineTo(x - 7 * dx + 4 * dy, y - 7 * dy + 4 * dx);
}

function middle(box) {
  return [box.offsetLeft + box.offsetWidth / 2, box.offsetTop + box.offsetHeight / 2];
}

// ---- the numbers -----------------------------------------------------------------------

function drawMap(canvas, state, width, { ink, paper }) {
  const { name, rows, columns, row, column } = state;
  const cell = Math.min(Math.floor((width - LEFT - 2) / columns), 46);
  const context = prepare(canvas, LEFT + columns * cell + 2, TOP + rows * TALL + 2);
  canvas.place = { cell, rows, columns };
  const matrix = state.matrixOf(name);
  const [scale, levels] = [scaleOf(name), levelsOf(name, matrix)];
  const hatch = hatching(context, ink, paper);
  writeEdges(context, state, cell, ink);
  const decimals = cell >= 40 ? 2 : 1;
  context.font = `${cell >= 36 ? 12 : 10}px sans-serif`;
  matrix.forEach((value, n) => {
    const [x, y] = [LEFT + (n % columns) * cell, TOP + Math.floor(n / columns) * TALL];
    const hidden = isHidden(state, n);
    context.fillStyle = hidden ? hatch : scale.css[levels[n]];
    context.fillRect(x, y, cell - 1, TALL - 1);
    if (cell < 24 || (hidden && name !== "masked")) return;
    context.fillStyle = hidden ? ink : scale.ink[levels[n]];
    context.fillText(isDropped(state, n) ? "×" : shortened(value, decimals), x + cell / 2, y + TALL / 2);
  });
  frame(context, LEFT + column * cell, TOP + row * TALL, cell, ink, paper);
}

function isHidden({ name, causal, columns }, n) {
  return causal && ["masked", ...SHARES].includes(name) && isFuture(n, columns);
}

function isDropped({ name, sequence, head, sizes: { H, T }, gone }, n) {
  return name === "dropped" && gone((sequence * H + head) * T * T + n);
}

/** Numbers of rows and columns, and the heads that columns belong to. */
function writeEdges(context, state, cell, ink) {
  const { name, rows, columns, row, column, sizes, head, hasHeads } = state;
  context.textBaseline = "middle";
  context.textAlign = "center";
  const write = (text, strong, x, y) => {
    context.fillStyle = ink;
    context.font = `${strong ? "bold " : ""}12px sans-serif`;
    context.fillText(text, x, y);
  };
  for (let i = 0; i < rows; i += 1) write(i, i === row, LEFT - 14, TOP + (i + 0.5) * TALL);
  for (let j = 0; j < columns; j += 1) write(j, j === column, LEFT + (j + 0.5) * cell, TOP - 16);
  if (!hasHeads && !HEADS_IN_COLUMNS.includes(name)) return;
  const strips = hasHeads ? [head] : Array.from({ length: sizes.H }, (_, h) => h);
  const wide = (columns / strips.length) * cell;
  strips.forEach((h, i) => {
    context.fillStyle = THEME.heads[h % THEME.heads.length];
    context.fillRect(LEFT + i * wide, TOP - 7, wide - 1, 5);
    const text = wide > 46 ? `head ${h}` : String(h);
    write(text, false, LEFT + (i + 0.5) * wide, TOP - 34);
  });
}

function frame(context, x, y, cell, ink, paper) {
  context.lineWidth = 3;
  context.strokeStyle = ink;
  context.strokeRect(x, y, cell - 1, TALL - 1);
  context.lineWidth = 1.5;
  context.strokeStyle = paper;
  context.strokeRect(x + 2, y + 2, cell - 5, TALL - 5);
}

function chooseCell(view, canvas) {
  const { model } = view;
  const go = (row, column) => {
    const { rows, columns } = canvas.place;
    setTrait(model, "row", Math.max(Math.min(row, rows - 1), 0));
    setTrait(model, "column", Math.max(Math.min(column, columns - 1), 0));
  };
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  canvas.addEventListener("keydown", view.guarded((event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    const { rows, columns } = canvas.place;
    const [down, right] = steps[event.key];
    go(Math.min(model.get("row"), rows - 1) + down, Math.min(model.get("column"), columns - 1) + right);
  }));
  const point = view.guarded((event) => {
    const { cell, rows, columns } = canvas.place;
    const [row, column] = [(event.offsetY - TOP) / TALL, (event.offsetX - LEFT) / cell].map(Math.floor);
    if (row >= 0 && column >= 0 && row < rows && column < columns) go(row, column);
  });
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
}
