// What every live view shares: controls, drawing, the maths of attention, and manners.

/** Build a view inside `el`; an error is shown in the view instead of being lost. */
export function mountView(model, el, build) {
  const root = element("div", { class: "mha-view" });
  const problem = element("p", { class: "mha-problem", role: "alert", hidden: "" });
  const body = element("div", { class: "mha-body" });
  root.append(body, problem);
  el.append(root);
  root.addEventListener("keydown", keepKeysInside);

  const showProblem = (error) => {
    problem.textContent = error ? `This view failed: ${error.message ?? error}` : "";
    problem.hidden = !error;
  };
  const guarded = (action) => (...args) => {
    try {
      action(...args);
    } catch (error) {
      showProblem(error);
      console.warn(error);
    }
  };
  const stops = [];
  const view = {
    model,
    body,
    guarded,
    /** Call `action` when one of the traits changes, until the view is removed. */
    onChange(names, action) {
      const safe = guarded(action);
      for (const name of names) {
        model.on(`change:${name}`, safe);
        stops.push(() => model.off(`change:${name}`, safe));
      }
    },
    onStop: (stop) => stops.push(stop),
  };
  view.onChange(["problem"], () => showProblem(model.get("problem")));
  guarded(build)(view);
  return () => stops.forEach((stop) => stop());
}

/** JupyterLab would read plain keys as notebook commands; keep them in the view. */
function keepKeysInside(event) {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
}

/** Run `draw` once in the next animation frame, however often it is asked for. */
export function framed(view, draw) {
  const safe = view.guarded(draw);
  let waiting = 0;
  const ask = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      safe();
    });
  };
  view.onStop(() => cancelAnimationFrame(waiting));
  return ask;
}

/** Set one trait: the view answers now, Python hears of it when the reader pauses. */
export function setTrait(model, name, value) {
  if (model.get(name) === value) return;
  model.set(name, value);
  clearTimeout(unsaved.get(model));
  unsaved.set(model, setTimeout(() => model.save_changes(), 100));
}

const unsaved = new WeakMap();

// ---- page elements -------------------------------------------------------------------

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

let labels = 0;

function uniqueId() {
  return `mha-control-${(labels += 1)}-${Math.random().toString(36).slice(2, 8)}`;
}

function labelled(text, control, ...extra) {
  control.id = uniqueId();
  const label = element("label", { for: control.id }, text);
  return element("div", { class: "mha-control" }, label, control, ...extra);
}

/** A slider bound to a trait; `options` may be a function when the range changes. */
export function slider(view, text, trait, options) {
  const range = () => (typeof options === "function" ? options() : options);
  const show = (value) => range().format?.(value) ?? String(value);
  const input = element("input", { type: "range" });
  const output = element("output", { "aria-hidden": "true" });
  const update = () => {
    const { min, max, step = 1 } = range();
    Object.assign(input, { min, max, step, value: view.model.get(trait) });
    output.textContent = show(view.model.get(trait));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => setTrait(view.model, trait, Number(input.value)));
  view.onChange([trait], update);
  update();
  return Object.assign(labelled(text, input, output), { update });
}

export function checkbox(view, text, trait) {
  const input = element("input", { type: "checkbox" });
  const update = () => (input.checked = view.model.get(trait));
  input.addEventListener("change", () => setTrait(view.model, trait, input.checked));
  view.onChange([trait], update);
  update();
  return labelled(text, input);
}

/** A slider whose positions are the values of a list; `values` is a function. */
export function listSlider(view, text, trait, values) {
  const proxy = {
    get: () => Math.max(values().indexOf(view.model.get(trait)), 0),
    set: (_, place) => setTrait(view.model, trait, values()[place]),
    save_changes() {},
  };
  return slider({ ...view, model: proxy }, text, trait, () => ({
    min: 0, max: values().length - 1, format: (place) => String(values()[place]),
  }));
}

/** One choice out of a few names: native radio buttons, so arrow keys move the choice. */
export function radios(view, text, trait, names) {
  const group = element("fieldset", { class: "mha-radios" }, element("legend", {}, text));
  const shared = uniqueId();
  const inputs = names.map((name) => {
    const input = element("input", { type: "radio", name: shared, value: name });
    input.addEventListener("change", () => setTrait(view.model, trait, name));
    group.append(element("label", {}, input, name));
    return input;
  });
  const update = () => inputs.forEach((i) => (i.checked = i.value === view.model.get(trait)));
  view.onChange([trait], update);
  update();
  return group;
}

/** A push button; `isOn`, when given, says whether it shows as pressed for these traits. */
export function button(view, text, action, traits = [], isOn = () => false) {
  const node = element("button", { type: "button", class: "mha-button" }, text);
  const update = () => node.setAttribute("aria-pressed", String(isOn()));
  node.addEventListener("click", view.guarded(action));
  if (!traits.length) return node;
  view.onChange(traits, update);
  update();
  return node;
}

/** A list to choose one of; the trait is the place in `names`. */
export function choice(view, text, trait, names) {
  const options = names.map((name, place) => element("option", { value: String(place) }, name));
  const list = element("select", {}, ...options);
  const update = () => (list.value = String(view.model.get(trait)));
  list.addEventListener("change", () => setTrait(view.model, trait, Number(list.value)));
  view.onChange([trait], update);
  update();
  return labelled(text, list);
}

export function textField(view, text, trait) {
  const input = element("input", { type: "text", spellcheck: "false", autocomplete: "off" });
  const update = () => {
    if (document.activeElement !== input) input.value = view.model.get(trait);
  };
  input.addEventListener("input", () => setTrait(view.model, trait, input.value));
  view.onChange([trait], update);
  update();
  return labelled(text, input);
}

/** A word as it stands in a picture: in one line and not longer than 24 characters. */
export function asLabel(word) {
  const line = [...String(word).split(/\s+/).filter(Boolean).join(" ")];
  return line.length <= 24 ? line.join("") : `${line.slice(0, 23).join("")}…`;
}

/** The key with the largest share of `among` keys; where several have it, how many. */
export function mostAt(words, shares, among) {
  const largest = Math.max(...shares);
  const best = words.map((_, j) => j).filter((j) => shares[j] > largest - TIE);
  if (best.length === 1) return `key ${best[0]}, “${words[best[0]]}”`;
  return best.length === 2 && among > 2
    ? `keys ${best.map((j) => `${j} “${words[j]}”`).join(" and ")} alike`
    : `${best.length} keys alike`;
}

const TIE = 1e-6; // shares that are closer than rounding are equal

/** The finding in words; screen readers read it when it changes. */
export function liveSentence() {
  return element("p", { class: "mha-finding", "aria-live": "polite" });
}

/** A focusable picture with a text for those who can not see it. */
export function picture(label) {
  return element("canvas", { role: "img", tabindex: "0", "aria-label": label });
}

/** Size a canvas in CSS pixels, sharp on any screen; returns a cleared 2d context. */
export function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    Object.assign(canvas, { width: w, height: h });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// ---- colours -------------------------------------------------------------------------

/** The colour of a share between 0 and 1, as [red, green, blue]. */
export function weightColour(share) {
  return paletteColour(THEME.weights, share);
}

/** The colour at a share between 0 and 1 of a list of colours, as [red, green, blue]. */
export function paletteColour(palette, share) {
  const steps = palette.length - 1;
  const place = Math.min(Math.max(share, 0), 1) * steps;
  const low = Math.min(Math.floor(place), steps - 1);
  const [a, b] = [palette[low], palette[low + 1]];
  return a.map((value, i) => Math.round(value + (b[i] - value) * (place - low)));
}

export function css(colour) {
  return `rgb(${colour.join(",")})`;
}

/** The colour of a share as #rrggbb. */
export function weightHex(share) {
  return hexOf(weightColour(share));
}

/** The colour of a share between -1 and 1 as #rrggbb. */
export function signedHex(share) {
  return hexOf(paletteColour(THEME.signed, 0.5 + share / 2));
}

function hexOf(colour) {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Colours of the page the view stands in, light or dark, as a canvas understands them. */
export function pageColours(node) {
  const style = getComputedStyle(node.closest(".mha-view"));
  return { ink: style.color, paper: style.backgroundColor, line: style.borderTopColor };
}

/** Colours are drawn into the canvas, so a change of theme has to draw again. */
export function watchTheme(view, draw) {
  const observer = new MutationObserver(draw);
  observer.observe(document.body, { attributes: true });
  const query = matchMedia("(prefers-color-scheme: dark)");
  query.addEventListener("change", draw);
  view.onStop(() => {
    observer.disconnect();
    query.removeEventListener("change", draw);
  });
}

/** Draw again when the width of a node changes; also when it first gets one. */
export function watchWidth(view, node, draw) {
  let width = -1;
  const observer = new ResizeObserver(() => {
    if (width !== (width = node.clientWidth)) draw();
  });
  observer.observe(node);
  view.onStop(() => observer.disconnect());
}

/** Black or white: whichever is easier to read on a colour written as #rrggbb. */
export function inkOn(colour) {
  const linear = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.179 ? "#000000" : "#ffffff";
}

/** Diagonal hatching: "masked" must not depend on seeing a colour. */
export function hatching(context, ink, paper) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.fillStyle = paper;
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = ink;
  pen.globalAlpha = 0.45;
  pen.beginPath();
  pen.moveTo(-1, 7);
  pen.lineTo(7, -1);
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

/** Draw square maps of shares as pixels and scale them up to `size` CSS pixels. */
export function drawShares(context, shares, columns, x, y, size) {
  const pixels = new ImageData(columns, shares.length / columns);
  const colours = colourTable();
  const out = new Uint32Array(pixels.data.buffer);
  for (let i = 0; i < shares.length; i += 1) out[i] = colours[(shares[i] * 255 + 0.5) | 0];
  scratch ??= new OffscreenCanvas(1, 1);
  scratch.width = columns;
  scratch.height = pixels.height;
  scratch.getContext("2d").putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(scratch, x, y, size, size);
}

/**
 * Draw a grid of cells with a word for every row and column, as wide as its panel allows.
 * `cellAt(i, j)` gives { fill, text, ink, frame }; all but fill may be left out. `ends`, if any,
 * are written behind the rows, their name `end` above them.
 * Where the cells lie is kept in `canvas.place`.
 */
export function drawGrid(canvas, options) {
  const { cellAt, row = -1, column = -1, ends = [], end = "", ink } = options;
  const [rows, columns] = [options.rows, options.columns].map((words) => words.map(asLabel));
  const pen = canvas.getContext("2d");
  pen.font = "bold 13px sans-serif";
  const widest = (words) => Math.ceil(Math.max(0, ...words.map((w) => pen.measureText(w).width)));
  const [left, top] = [widest(rows) + 8, widest(columns) + 8];
  const right = ends.length ? widest([end, ...ends]) + 10 : 2;
  const room = (canvas.parentElement.clientWidth || 420) - left - right;
  const cell = Math.max(Math.min(Math.floor(room / columns.length), 44), 8);
  const width = left + columns.length * cell + right;
  const context = prepare(canvas, width, top + rows.length * cell + 2);
  canvas.place = { left, top, cell, rows: rows.length, columns: columns.length };
  writeWords(context, rows, columns, { row, column, ink, left, top, cell });
  context.textAlign = "right";
  if (ends.length) context.fillText(end, width - 2, top - 12);
  ends.forEach((text, i) => context.fillText(text, width - 2, top + (i + 0.5) * cell));
  context.font = `${cell < 34 ? 10.5 : 12}px sans-serif`;
  context.textAlign = "center";
  for (let i = 0; i < rows.length; i += 1) {
    for (let j = 0; j < columns.length; j += 1) {
      drawCell(context, cellAt(i, j), left + j * cell, top + i * cell, cell);
    }
  }
  if (row < 0) return;
  context.strokeStyle = THEME.mark;
  context.lineWidth = 2.5;
  context.strokeRect(left, top + row * cell, columns.length * cell, cell);
}

function writeWords(context, rows, columns, { row, column, ink, left, top, cell }) {
  context.fillStyle = ink;
  context.textBaseline = "middle";
  const write = (word, strong, x, y, align) => {
    context.font = `${strong ? "bold " : ""}${Math.min(13, cell)}px sans-serif`;
    context.textAlign = align;
    context.fillText(word, x, y);
  };
  rows.forEach((word, i) => write(word, i === row, left - 6, top + (i + 0.5) * cell, "right"));
  columns.forEach((word, j) => {
    context.save();
    context.translate(left + (j + 0.5) * cell, top - 6);
    context.rotate(-Math.PI / 2);
    write(word, j === column, 0, 0, "left");
    context.restore();
  });
}

function drawCell(context, { fill, text, ink, frame }, x, y, cell) {
  context.fillStyle = fill;
  context.fillRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
  if (frame) {
    context.strokeStyle = ink ?? inkOn(fill);
    context.lineWidth = 2.5;
    context.strokeRect(x + 3, y + 3, cell - 6, cell - 6);
  }
  if (!text || context.measureText(text).width > cell - 3) return;
  context.fillStyle = ink ?? inkOn(fill);
  context.fillText(text, x + cell / 2, y + cell / 2 + 0.5);
}

/** The cell of a drawn grid under the pointer as [row, column], or null. */
export function cellUnder(canvas, event) {
  const { left, top, cell, rows, columns } = canvas.place;
  const place = [Math.floor((event.offsetY - top) / cell), Math.floor((event.offsetX - left) / cell)];
  const inside = place[0] >= 0 && place[1] >= 0 && place[0] < rows && place[1] < columns;
  return inside ? place : null;
}

let scratch = null;
let table = null;

/** 256 colours, each as the four bytes of one pixel. */
function colourTable() {
  table ??= new Uint32Array(
    Uint8Array.from({ length: 1024 }, (_, i) =>
      (i % 4 === 3 ? 255 : weightColour((i >> 2) / 255)[i % 4])).buffer);
  return table;
}

// ---- data and maths ------------------------------------------------------------------

/** Bytes from Python arrive as an unaligned DataView; copy them into floats. */
export function floats(view) {
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/** Numbers of 2 bytes each (float16), as Python sends them. */
export function halves(view) {
  const end = view.byteOffset + view.byteLength;
  return Float32Array.from(new Uint16Array(view.buffer.slice(view.byteOffset, end)), (bits) => {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
  });
}

/** The whole numbers that divide n without remainder, smallest first. */
export function divisors(n) {
  return Array.from({ length: n }, (_, i) => i + 1).filter((i) => n % i === 0);
}

/**
 * q_i . k_j / sqrt(Dh) for the tokens in `ids`: T x T numbers, row by row. A head that is some
 * columns of a wider row says how wide the row is and at which column the head starts.
 */
export function attentionScores(q, k, ids, headDim, width = headDim, start = 0) {
  const scores = new Float64Array(ids.length * ids.length);
  const scale = 1 / Math.sqrt(headDim);
  for (let i = 0, at = 0; i < ids.length; i += 1) {
    for (let j = 0; j < ids.length; j += 1, at += 1) {
      let sum = 0;
      const [atQ, atK] = [ids[i] * width + start, ids[j] * width + start];
      for (let d = 0; d < headDim; d += 1) sum += q[atQ + d] * k[atK + d];
      scores[at] = sum * scale;
    }
  }
  return scores;
}

/** Row-wise softmax of scores / temperature over the keys that a query may look at. */
export function attentionWeights(scores, length, temperature, causal) {
  const weights = new Float32Array(length * length);
  for (let i = 0; i < length; i += 1) {
    const [start, end] = [i * length, i * length + (causal ? i + 1 : length)];
    let largest = -Infinity;
    for (let at = start; at < end; at += 1) largest = Math.max(largest, scores[at]);
    let total = 0;
    for (let at = start; at < end; at += 1) {
      total += weights[at] = Math.exp((scores[at] - largest) / temperature);
    }
    for (let at = start; at < end; at += 1) weights[at] /= total;
  }
  return weights;
}

/** Shares that sum to 1, over the places that are allowed; all zero when none is. */
export function softmax(scores, isAllowed = () => true) {
  const kept = scores.map((score, j) => (isAllowed(j) ? score : -Infinity));
  const largest = Math.max(...kept);
  if (largest === -Infinity) return scores.map(() => 0);
  const parts = kept.map((score) => Math.exp(score - largest));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

/** The sum of products of two lists of one length. */
export function dot(a, b) {
  return a.reduce((sum, value, d) => sum + value * b[d], 0);
}

/** A flat list cut into rows of `width` plain numbers. */
export function rowsOf(flat, width) {
  return Array.from({ length: flat.length / width }, (_, i) =>
    Array.from(flat.subarray(i * width, (i + 1) * width)));
}

/** How spread out one row of shares is, in nats: 0 = all on one, log(n) = alike. */
export function entropy(shares) {
  return shares.reduce((sum, share) => (share > 0 ? sum - share * Math.log(share) : sum), 0);
}
