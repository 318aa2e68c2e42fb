import {
  attentionScores, attentionWeights, checkbox, css, divisors, drawShares, element, entropy,
  floats, framed, halves, hatching, listSlider, liveSentence, mostAt, mountView, pageColours,
  picture, prepare, setTrait, asLabel, slider, textField, watchTheme, watchWidth, weightColour,
} from "./base.js";

const WIDEST = 380; // the map in CSS pixels, where there is room
const MOST_HEADS = 32;
const [MOST_TOKENS, MOST_UNKNOWN] = [128, 8];
const LABELLED = 20; // up to this many tokens every row and column carries its word

export default { render: ({ model, el }) => mountView(model, el, buildHeadExplorer) };

function buildHeadExplorer(view) {
  const { model, body } = view;
  const map = picture("attention weights");
  const bars = picture("weights of the chosen query");
  const sums = element("table", { class: "mha-sums mha-products" });
  const finding = liveSentence();
  const heads = headButtons(view);
  const controls = element("div", { class: "mha-controls" });
  const length = slider(view, "tokens", "length", () => ({ min: 1, max: tokens(model).length }));
  if (model.get("editable")) controls.append(textField(view, "sentence", "sentence"));
  if (model.get("resplit")) controls.append(headSlider(view));
  controls.append(
    length,
    slider(view, "temperature", "temperature", {
      min: 0.1, max: 4, step: 0.1, format: (t) => t.toFixed(1),
    }),
    checkbox(view, "causal", "causal"),
    checkbox(view, "lock the row", "locked"),
  );
  const hint = element("p", { class: "mha-hint" },
    "Pointer or arrow keys on the map: choose a query (row) and a key (column). Click or press "
      + "Enter: lock the row, and let it go again.");
  const single = model.get("shape")[0] === 1 && !model.get("resplit");
  body.append(controls, ...(single ? [] : [heads.node]), finding, element("div", { class: "mha-panels" },
    element("div", {}, map, hint), element("div", {}, bars, sums)));

  const cache = {};
  const draw = framed(view, () => {
    const state = compute(model, cache);
    const colours = pageColours(body);
    drawMap(map, state, colours);
    drawBars(bars, state, colours);
    writeSums(sums, state);
    finding.textContent = state.sentence;
    map.setAttribute("aria-label",
      `Attention weights, ${state.length} queries by ${state.length} keys. ${state.sentence}`);
    bars.setAttribute("aria-label", `Weights of the query “${state.word(state.row)}”, as bars.`);
    heads.drawLater(state);
  });
  chooseWithKeys(map, model);
  chooseWithKeys(bars, model);
  chooseWithPointer(map, model, cache);
  view.onChange(["sentence"], () => {
    setTrait(model, "length", tokens(model).length);
    length.update();
  });
  view.onChange(["length"], () => ["row", "column"].forEach((name) =>
    setTrait(model, name, insideOf(model, model.get(name)))));
  view.onChange(["row", "column", "length", "temperature", "causal", "locked", "head", "num_heads",
    "sentence", "q", "k"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

/** As data.split_words: runs of letters, marks and digits, an apostrophe inside. */
function wordsOf(text) {
  const runs = text.toLowerCase().normalize("NFC").match(/[\p{L}\p{M}\p{N}'’]+/gu) ?? [];
  return runs.map((run) => run.replace(/^['’]+|['’]+$/g, "")).filter((word) => word);
}

/** The words of the sentence and their places in the table of words that Python sent. */
function tokens(model) {
  const words = model.get("words");
  if (!model.get("editable")) return words.map((word, id) => ({ word, id }));
  const places = placesOf(words);
  return wordsOf(model.get("sentence"))
    .filter((word) => places.has(word))
    .slice(0, MOST_TOKENS)
    .map((word) => ({ word, id: places.get(word) }));
}

/** The first place of every word. */
function placesOf(words) {
  return new Map(words.map((word, id) => [word, id]).reverse());
}

/** What the reader has written and the view can not show. */
function noteOn(model) {
  if (!model.get("editable")) return "";
  const [places, written] = [placesOf(model.get("words")), wordsOf(model.get("sentence"))];
  const unknown = written.filter((word) => !places.has(word));
  const more = unknown.length > MOST_UNKNOWN ? ` and ${unknown.length - MOST_UNKNOWN} more` : "";
  const listed = unknown.slice(0, MOST_UNKNOWN).map(asLabel).join(", ");
  const isLong = written.length - unknown.length > MOST_TOKENS;
  return (unknown.length ? ` Not in the vocabulary: ${listed}${more}.` : "")
    + (isLong ? ` Only the first ${MOST_TOKENS} words are shown.` : "");
}

/** The place of a token, or the nearest one that is shown. */
function insideOf(model, place) {
  return Math.max(Math.min(place, model.get("length") - 1, tokens(model).length - 1), 0);
}

/** The numbers of heads that share the columns evenly. */
function splits(model) {
  const [given, , headDim] = model.get("shape");
  return divisors(given * headDim).filter((n) => n <= Math.max(given, MOST_HEADS));
}

function headSlider(view) {
  return listSlider(view, "heads", "num_heads", () => splits(view.model));
}

/** (H, words, Dh) as Python sent it, to (words, D): the heads of a word side by side. */
function joinHeads(sent, [numHeads, numWords, headDim]) {
  const joined = new Float32Array(sent.length);
  for (let h = 0; h < numHeads; h += 1) {
    for (let w = 0; w < numWords; w += 1) {
      const from = (h * numWords + w) * headDim;
      joined.set(sent.subarray(from, from + headDim), (w * numHeads + h) * headDim);
    }
  }
  return joined;
}

function numbers(sent, [numHeads, numWords, headDim]) {
  return sent.byteLength === 2 * numHeads * numWords * headDim ? halves(sent) : floats(sent);
}

/** q and k as rows of D columns, and the scores of a head as soon as it is asked for. */
function refresh(cache, model, ids, numHeads) {
  const shape = model.get("shape");
  const width = shape[0] * shape[2];
  if (cache.sent !== model.get("q")) {
    const [q, k] = ["q", "k"].map((name) => joinHeads(numbers(model.get(name), shape), shape));
    Object.assign(cache, { sent: model.get("q"), q, k, key: null });
  }
  const key = `${numHeads}: ${ids.join()}`;
  if (cache.key === key) return;
  const [headDim, scores] = [width / numHeads, []];
  const scoresOf = (h) => (scores[h] ??=
    attentionScores(cache.q, cache.k, ids, headDim, width, h * headDim));
  Object.assign(cache, { key, scoresOf });
}

/** Everything that is drawn, as plain numbers; scores are kept until words or heads change. */
function compute(model, cache = {}) {
  const [given, , givenDim] = model.get("shape");
  const numHeads = splits(model).includes(model.get("num_heads")) && model.get("resplit")
    ? model.get("num_heads") : given;
  const all = tokens(model);
  const length = Math.max(Math.min(model.get("length"), all.length), 0);
  const ids = all.slice(0, length).map(({ id }) => id);
  refresh(cache, model, ids, numHeads);
  const { scoresOf } = cache;
  const [temperature, causal] = [model.get("temperature"), model.get("causal")];
  const row = Math.max(Math.min(model.get("row"), length - 1), 0);
  const head = Math.max(Math.min(model.get("head"), numHeads - 1), 0);
  const weightsOf = (h) => attentionWeights(scoresOf(h), length, temperature, causal);
  const weights = weightsOf(head);
  const state = {
    numHeads, headDim: (given * givenDim) / numHeads, width: given * givenDim, length, ids, causal,
    temperature, row, head, weights, weightsOf, q: cache.q, k: cache.k, scores: scoresOf(head),
    resplit: model.get("resplit"), locked: model.get("locked"), names: model.get("names"),
    shares: weights.subarray(row * length, (row + 1) * length),
    column: Math.max(Math.min(model.get("column"), length - 1), 0),
    word: (i) => all[i]?.word ?? "",
  };
  cache.length = length;
  state.sentence = describe(state, noteOn(model));
  return state;
}

function describe(state, note) {
  if (!state.length) return `Write a sentence with words that have vectors.${note}`;
  const among = state.causal ? state.row + 1 : state.length;
  const best = mostAt(state.ids.map((_, j) => state.word(j)), state.shares, among);
  const how = best === `${among} keys alike` ? "looks at" : "looks most at";
  return `${whoOf(state)} ${state.row}, “${state.word(state.row)}”${state.locked ? " (locked)" : ""}, `
    + `${how} ${best}: ${Math.max(...state.shares).toFixed(2)}. Entropy `
    + `${entropy(state.shares).toFixed(2)} of at most ${Math.log(among).toFixed(2)} nats.${note}`;
}

function whoOf({ resplit, numHeads, head, headDim, names }) {
  if (resplit) return `Head ${head} of ${numHeads}, Dh = ${headDim}: query`;
  return numHeads > 1 ? `Head ${names[head] ?? head}: query` : "Query";
}

function layout(state, context, room) {
  const labelled = state.length <= LABELLED;
  context.font = "13px sans-serif";
  const widest = labelled
    ? Math.max(...state.ids.map((_, i) => context.measureText(asLabel(state.word(i))).width), 10) : 0;
  const margin = labelled ? Math.ceil(widest) + 8 : 4;
  return { labelled, margin, size: room - margin, cell: (room - margin) / Math.max(state.length, 1) };
}

function drawMap(canvas, state, { ink, paper }) {
  const room = Math.min(canvas.parentElement.clientWidth || WIDEST, WIDEST);
  const context = prepare(canvas, room, room);
  const { labelled, margin, size, cell } = layout(state, context, room);
  canvas.place = { margin, cell };
  if (!state.length) return;
  drawShares(context, state.weights, state.length, margin, margin, size);
  if (state.causal) hatchFuture(context, state, margin, cell, hatching(context, ink, paper));
  context.fillStyle = ink;
  context.textBaseline = "middle";
  for (let i = 0; labelled && i < state.length; i += 1) {
    context.font = `${i === state.row ? "bold " : ""}13px sans-serif`;
    context.textAlign = "right";
    context.fillText(asLabel(state.word(i)), margin - 6, margin + (i + 0.5) * cell);
    context.font = `${i === state.column ? "bold " : ""}13px sans-serif`;
    context.save();
    context.translate(margin + (i + 0.5) * cell, margin - 6);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(asLabel(state.word(i)), 0, 0);
    context.restore();
  }
  context.strokeStyle = THEME.mark;
  context.lineWidth = state.locked ? 5 : 2.5;
  context.strokeRect(margin, margin + state.row * cell, size, cell);
  context.lineWidth = 2.5;
  const [x, y] = [margin + state.column * cell, margin + state.row * cell];
  context.strokeStyle = "#ffffff";
  context.strokeRect(x + 2, y + 2, Math.max(cell - 4, 1), Math.max(cell - 4, 1));
}

function hatchFuture(context, state, margin, cell, pattern) {
  context.fillStyle = pattern;
  context.beginPath();
  for (let i = 0; i < state.length - 1; i += 1) {
    context.rect(margin + (i + 1) * cell, margin + i * cell, (state.length - 1 - i) * cell, cell);
  }
  context.fill();
}

function drawBars(canvas, state, { ink, paper, line }) {
  const [height, left] = [190, 4];
  const width = Math.min(canvas.parentElement.clientWidth || 400, 400);
  const context = prepare(canvas, width, height);
  if (!state.length) return;
  const labelled = state.length <= LABELLED;
  const step = (width - left) / state.length;
  const floor = labelled ? height - 62 : height - 8;
  const hatch = hatching(context, ink, paper);
  context.fillStyle = ink;
  context.font = "13px sans-serif";
  context.textAlign = "left";
  context.fillText(`“${asLabel(state.word(state.row))}” shares out its attention`, left, 12);
  for (let j = 0; j < state.length; j += 1) {
    const share = state.shares[j];
    const tall = share * (floor - 40);
    const x = left + j * step;
    const future = state.causal && j > state.row;
    context.fillStyle = future ? hatch : css(weightColour(share));
    context.fillRect(x + step * 0.1, floor - (future ? 12 : tall), step * 0.8, future ? 12 : tall);
    context.strokeStyle = j === state.column ? THEME.mark : line;
    context.lineWidth = j === state.column ? 2.5 : 0.7;
    context.strokeRect(x + step * 0.1, floor - (future ? 12 : tall), step * 0.8, future ? 12 : tall);
    if (!labelled) continue;
    context.fillStyle = ink;
    context.font = `${j === state.column ? "bold " : ""}12px sans-serif`;
    if (step > 26 && !future) {
      context.textAlign = "center";
      context.fillText(share.toFixed(2), x + step / 2, floor - tall - 5);
    }
    context.save();
    context.translate(x + step / 2 + 4, floor + 8);
    context.rotate(-Math.PI / 3);
    context.textAlign = "right";
    context.fillText(asLabel(state.word(j)), 0, 0);
    context.restore();
  }
}

/** Where the number in the chosen cell comes from: products, sum, scale, softmax. */
function writeSums(tableNode, state) {
  if (!state.length) return tableNode.replaceChildren();
  const { row, column, headDim, head, width, ids, length } = state;
  const at = (x, token, d) => x[ids[token] * width + head * headDim + d];
  const shown = Math.min(headDim, 6);
  const products = Array.from({ length: headDim }, (_, d) => at(state.q, row, d) * at(state.k, column, d));
  const sum = products.reduce((a, b) => a + b, 0);
  const rows = Array.from({ length: shown }, (_, d) =>
    [`q[${d}] × k[${d}]`, `${short(at(state.q, row, d))} × ${short(at(state.k, column, d))}`, short(products[d])]);
  if (shown < headDim) {
    rows.push([`${headDim - shown} more`, "", short(products.slice(shown).reduce((a, b) => a + b, 0))]);
  }
  const score = state.scores[row * length + column];
  const masked = state.causal && column > row;
  const tempered = score / state.temperature;
  const total = [
    ["sum = q · k", "", short(sum)],
    [`÷ √${headDim} = score`, "", short(score)],
    ...(state.temperature === 1 ? [] : [["÷ temperature", state.temperature.toFixed(1), short(tempered)]]),
    masked ? ["in the future: masked", "", "−∞"] : null,
    ["softmax of the row = weight", "", state.shares[column].toFixed(4)],
  ].filter(Boolean);
  tableNode.replaceChildren(
    element("caption", {}, `Query “${state.word(row)}” meets key “${state.word(column)}”`),
    ...rows.map((cells) => tableRow(cells)),
    ...total.map((cells, i) => tableRow(cells, i === 0 || i === total.length - 1)),
  );
}

function tableRow([name, detail, value], strong = false) {
  return element("tr", strong ? { class: "mha-total" } : {},
    element("th", { scope: "row", colspan: detail ? 1 : 2 }, name),
    ...[detail, value].filter(Boolean).map((text) => element("td", {}, text)));
}

function short(number) {
  return (Number.isInteger(number) ? String(number) : number.toFixed(3)).replace("-", "−");
}

/** One small map for each head; a radio group with one tab stop. */
function headButtons(view) {
  const { model } = view;
  const node = element("div", { class: "mha-heads", role: "radiogroup", "aria-label": "head" });
  const all = []; // a button is made once and shown when there are so many heads
  let buttons = [];
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  node.addEventListener("keydown", (event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    const now = buttons.findIndex((button) => button.tabIndex === 0);
    const next = (now + steps[event.key] + buttons.length) % buttons.length;
    setTrait(model, "head", next);
    buttons[next].focus();
  });
  // The chosen head answers in its frame; the small maps follow when the reader pauses.
  let state = null;
  let pause = 0;
  const drawAll = view.guarded(() => buttons.forEach((button, h) => {
    const context = prepare(button.map, 60, 60);
    if (state.length) drawShares(context, state.weightsOf(h), state.length, 0, 0, 60);
  }));
  view.onStop(() => clearTimeout(pause));
  return {
    node,
    drawLater(newest) {
      state = newest;
      if (buttons.length !== state.numHeads) {
        while (all.length < state.numHeads) all.push(headButton(model, all.length));
        buttons.slice(state.numHeads).forEach((button) => button.remove());
        node.append(...all.slice(buttons.length, state.numHeads));
        buttons = all.slice(0, state.numHeads);
      }
      buttons.forEach((button, h) => {
        if ((button.tabIndex === 0) === (h === state.head)) return;
        button.setAttribute("aria-checked", String(h === state.head));
        button.tabIndex = h === state.head ? 0 : -1;
      });
      clearTimeout(pause);
      pause = setTimeout(drawAll, 80);
    },
  };
}

function headButton(model, h) {
  const map = element("canvas", { "aria-hidden": "true" });
  prepare(map, 60, 60);
  const unchosen = { role: "radio", type: "button", "aria-checked": "false", tabindex: "-1" };
  const button = element("button", unchosen, map, `head ${model.get("names")[h] ?? h}`);
  button.addEventListener("click", () => setTrait(model, "head", h));
  button.map = map;
  return button;
}

/** Take a cell; a locked row stays. */
function choose(model, row, column) {
  if (!model.get("locked")) setTrait(model, "row", row);
  setTrait(model, "column", column);
}

function chooseWithKeys(canvas, model) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    const inside = (place) => insideOf(model, place);
    if (event.key === "Enter") setTrait(model, "locked", !model.get("locked"));
    else if (!(event.key in steps)) return;
    else {
      const [down, right] = steps[event.key];
      choose(model, inside(inside(model.get("row")) + down), inside(inside(model.get("column")) + right));
    }
    event.preventDefault();
  });
}

/** Moving over the map chooses; a click locks the row that it hits, or lets the locked one go. */
function chooseWithPointer(canvas, model, cache) {
  const cellAt = (event) => {
    const { margin, cell } = canvas.place;
    const [row, column] = [event.offsetY, event.offsetX].map((at) => Math.floor((at - margin) / cell));
    const inside = (place) => place >= 0 && place < cache.length;
    return inside(row) && inside(column) ? [row, column] : null;
  };
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell) choose(model, ...cell);
  });
  canvas.addEventListener("pointerdown", (event) => {
    const cell = cellAt(event);
    if (!cell) return;
    const locked = model.get("locked");
    setTrait(model, "locked", false);
    choose(model, ...cell);
    setTrait(model, "locked", !locked);
  });
}
