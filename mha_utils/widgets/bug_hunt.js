import {
  button, choice, drawGrid, element, floats, framed, hatching, liveSentence, mountView, pageColours,
  picture, setTrait, slider, watchTheme, watchWidth, weightHex,
} from "./base.js";

export default { render: ({ model, el }) => mountView(model, el, buildBugHunt) };

function buildBugHunt(view) {
  const { model, body } = view;
  const finding = liveSentence();
  const [right, suspect] = [picture("right module"), picture("suspect")];
  const who = caption("");
  const [meaning, hint] = [1, 2].map(() => element("p", { class: "mha-hint" }));
  const number = suspectSlider(view);
  const questions = [probeButtons(view), pictureButtons(view)];
  const accusation = accuseControls(view);
  body.append(
    element("div", { class: "mha-controls" }, levelChoice(view), number),
    caption("Ask. Each “?” that you press costs a question."),
    buttonRow("probes", element("span", { class: "mha-answer" }, "shapes: right"), ...questions[0].nodes),
    caption("Look"), buttonRow("pictures", ...questions[1].nodes),
    caption("Accuse"), accusation.node,
    finding,
    element("div", { class: "mha-halves" },
      element("div", {}, caption("The right module"), right, meaning),
      element("div", {}, who, suspect, hint)));
  const maps = floats(model.get("maps"));

  const draw = framed(view, () => {
    const state = read(model);
    questions.forEach(({ update }) => update(state));
    accusation.update(state);
    number.update();
    showPictures({ right, suspect, who, meaning, hint }, maps, state, pageColours(body));
    const sentence = describe(state);
    if (finding.textContent !== sentence) finding.textContent = sentence;
  });
  view.onChange(["level", "suspect", "picture", "asked", "accused"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

function caption(text) {
  return element("p", { class: "mha-caption" }, text);
}

function buttonRow(name, ...nodes) {
  return element("div", { class: "mha-asking", role: "group", "aria-label": name }, ...nodes);
}

// ---- the state -------------------------------------------------------------------------

function read(model) {
  const get = (name) => model.get(name);
  const [pieces, pictures, answers] = ["pieces", "pictures", "answers"].map(get);
  const order = get("levels").find(([level]) => level === get("level"))?.[2] ?? [0];
  const number = Math.max(1, Math.min(get("suspect"), order.length));
  const piece = order[number - 1];
  const shown = Math.max(0, Math.min(get("picture"), pictures.length - 1));
  const asked = get("asked").filter(([who]) => who === piece).map(([, question]) => question);
  const accused = get("accused").filter(([who]) => who === piece).map(([, other]) => other);
  const isFound = accused.includes(piece);
  return {
    order, number, piece, pieces, pictures, answers, shown, asked, accused, isFound,
    probes: get("probes"), words: get("tokens"), allAsked: get("asked"), allAccused: get("accused"),
    seen: isFound || pictures[shown][1] || asked.includes(get("probes").length + shown),
  };
}

function describe(state) {
  return `${about(state)} ${score(state)}`;
}

function about(state) {
  const { order, number, piece, pieces, asked, accused, isFound } = state;
  const who = `Suspect ${number} of ${order.length}`;
  const [name, , wrong, place] = pieces[piece];
  if (isFound) return `${who} is “${name}”. ${wrong} Taught in ${place}.`;
  const fit = order.filter((n) => fits(state, n));
  const given = asked.length ? `${count(asked.length, "question")} asked` : "nothing asked yet";
  const said = `${who}: ${given}, ${fit.length} of ${order.length} names fit the answers.`;
  return accused.length ? `${said} ${against(state, accused.at(-1))}` : said;
}

/** Whether a piece would have given all the answers that the suspect gave. */
function fits({ answers, piece, asked }, n) {
  return asked.every((question) => answers[n][question] === answers[piece][question]);
}

/** Why the suspect is not the piece it was said to be. */
function against(state, other) {
  const { answers, piece, pieces, pictures, probes, asked } = state;
  const isApart = (question) => answers[other][question] !== answers[piece][question];
  const free = pictures.map(([, isFree], n) => (isFree ? probes.length + n : -1));
  const known = [...asked, ...free.filter((question) => question >= 0)].find(isApart);
  const because = () => {
    if (known !== undefined) return difference(state, known, other);
    return answers[piece].some((_, question) => isApart(question))
      ? "no answer so far tells the two apart, another question does"
      : "nothing here tells the two apart, it takes a question of your own";
  };
  return `Not “${pieces[other][0]}”: ${because()}.`;
}

function difference({ answers, pictures, probes }, question, other) {
  if (question >= probes.length) {
    return `in “${pictures[question - probes.length][0]}” it would look different`;
  }
  return `“${probes[question]}” would ${answers[other][question] ? "" : "not "}catch it`;
}

function score({ order, allAsked, allAccused }) {
  const accused = allAccused.filter(([piece]) => order.includes(piece));
  const found = new Set(accused.filter(([piece, other]) => piece === other).map(([piece]) => piece));
  const asked = allAsked.filter(([piece]) => order.includes(piece)).length;
  return `Found ${found.size} of ${order.length}: ${count(asked, "question")}, `
    + `${count(accused.length, "accusation")}.`;
}

function count(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

function verdict(answer) {
  return answer ? "caught" : "clean";
}

// ---- the controls ----------------------------------------------------------------------

function levelChoice(view) {
  const { model } = view;
  const levels = model.get("levels");
  const proxy = {
    get: () => levels.findIndex(([number]) => number === model.get("level")),
    set(_, place) {
      setTrait(model, "level", levels[place][0]);
      setTrait(model, "suspect", 1);
    },
    save_changes() {},
  };
  return choice({ ...view, model: proxy }, "level", "level", levels.map(([, title]) => title));
}

function suspectSlider(view) {
  return slider(view, "suspect", "suspect", () => {
    const { order, isFound } = read(view.model);
    const format = (number) => `${number} of ${order.length}${isFound ? " ✓ found" : ""}`;
    return { min: 1, max: order.length, format };
  });
}

/** A button for each probe; once pressed it says what the suspect has answered. */
function probeButtons(view) {
  const { model } = view;
  const nodes = model.get("probes").map((_, n) => button(view, "", () => ask(model, n)));
  return {
    nodes,
    update: ({ probes, piece, answers, asked }) => nodes.forEach((node, n) => {
      const isKnown = asked.includes(n);
      node.textContent = isKnown ? `${probes[n]}: ${verdict(answers[piece][n])}` : `${probes[n]}?`;
      node.setAttribute("aria-pressed", String(isKnown));
    }),
  };
}

/** A button for each picture; pressed is the one that is shown. */
function pictureButtons(view) {
  const { model } = view;
  const nodes = model.get("pictures").map((_, n) => button(view, "", () => look(model, n)));
  return {
    nodes,
    update: ({ probes, pictures, asked, shown, isFound }) => nodes.forEach((node, n) => {
      const [title, isFree] = pictures[n];
      const isOpen = isFree || isFound || asked.includes(probes.length + n);
      node.textContent = isOpen ? title : `${title}?`;
      node.setAttribute("aria-pressed", String(n === shown));
    }),
  };
}

function look(model, n) {
  const { probes, pictures, isFound } = read(model);
  setTrait(model, "picture", n);
  if (!pictures[n][1] && !isFound) ask(model, probes.length + n);
}

function ask(model, question) {
  const { piece, asked } = read(model);
  if (!asked.includes(question)) setTrait(model, "asked", [...model.get("asked"), [piece, question]]);
}

/** The names of the level, a group for each room, and the button that says one of them. */
function accuseControls(view) {
  const { model } = view;
  const list = element("select", { "aria-label": "name of the suspect" });
  const press = button(view, "accuse", () => list.value && accuse(model, Number(list.value)));
  let filled = null;
  return {
    node: element("div", { class: "mha-control mha-accusation" }, list, press),
    update(state) {
      if (filled !== state.order) list.replaceChildren(...roomGroups(state));
      filled = state.order;
      for (const option of list.querySelectorAll("optgroup option")) {
        option.textContent = nameWithMark(state, Number(option.value));
      }
      press.disabled = state.isFound;
    },
  };
}

function roomGroups({ order, pieces }) {
  const places = order.toSorted((a, b) => a - b);
  const rooms = [...new Set(places.map((n) => pieces[n][1]))];
  const none = element("option", { value: "" }, "choose a name");
  return [none, ...rooms.map((room) => element("optgroup", { label: room },
    ...places.filter((n) => pieces[n][1] === room).map((n) => element("option", { value: String(n) }))))];
}

function nameWithMark(state, n) {
  const { pieces, accused, allAccused } = state;
  const isFound = allAccused.some(([piece, other]) => piece === n && other === n);
  if (isFound) return `✓ ${pieces[n][0]} (found)`;
  if (accused.includes(n)) return `✗ ${pieces[n][0]} (not this one)`;
  return fits(state, n) ? pieces[n][0] : `✗ ${pieces[n][0]} (would answer otherwise)`;
}

function accuse(model, other) {
  const { piece } = read(model);
  setTrait(model, "accused", [...model.get("accused"), [piece, other]]);
}

// ---- the pictures ----------------------------------------------------------------------

function showPictures({ right, suspect, who, meaning, hint }, maps, state, colours) {
  const { answers, piece, seen, number, pieces, isFound, shown, pictures } = state;
  const [title, , what] = pictures[shown];
  const goal = mapOf(maps, state, answers.at(-1));
  const sizes = seen ? mapOf(maps, state, answers[piece]) : null;
  drawMap(right, state, goal, goal, colours);
  drawMap(suspect, state, sizes, goal, colours);
  who.textContent = isFound ? `Suspect ${number}: ${pieces[piece][0]}` : `Suspect ${number}`;
  meaning.textContent = what;
  hint.textContent = seen ? compare(sizes, goal) : `Not asked yet: press “${title}?”.`;
  right.setAttribute("aria-label", `Right module, ${title}. ${inRows(goal, state.words)}`);
  suspect.setAttribute("aria-label", `Suspect ${number}, ${title}. ${hint.textContent} `
    + `${seen ? inRows(sizes, state.words) : ""}`);
}

function mapOf(maps, { words, probes, shown }, answers) {
  const size = words.length ** 2;
  const place = answers[probes.length + shown];
  return maps.subarray(place * size, (place + 1) * size);
}

function compare(sizes, goal) {
  const others = sizes.filter((size, at) => short(size) !== short(goal[at])).length;
  const extra = sizes.filter((size, at) => isExtra(size, goal[at])).length;
  if (!others && !extra) return "To two digits all numbers are those of the right module.";
  const red = extra ? ` Framed (${extra}): NaN, or not 0 where the right module has 0.` : "";
  return `${others} of ${sizes.length} numbers differ from the right module's.${red}`;
}

function isExtra(size, goal) {
  return Number.isNaN(size) || (size !== 0 && goal === 0);
}

function short(size) {
  return Math.abs(size) < 9.995 ? size.toFixed(2) : size.toFixed(0);
}

function inRows(sizes, words) {
  const row = (i) => Array.from(sizes.subarray(i * words.length, (i + 1) * words.length), short);
  return words.map((word, i) => `Row “${word}”: ${row(i).join(" ")}`).join("; ");
}

function drawMap(canvas, { words }, sizes, goal, { ink, paper }) {
  const most = Math.max(...goal) || 1;
  const hatch = hatching(canvas.getContext("2d"), ink, paper);
  const cellAt = (i, j) => {
    const at = i * words.length + j;
    if (!sizes) return { fill: hatch, text: "?", ink };
    if (sizes[at] === 0) return { fill: paper };
    const frame = isExtra(sizes[at], goal[at]);
    return { fill: frame ? THEME.warning : weightHex(sizes[at] / most), text: short(sizes[at]), frame };
  };
  drawGrid(canvas, { rows: words, columns: words, ink, cellAt });
}
