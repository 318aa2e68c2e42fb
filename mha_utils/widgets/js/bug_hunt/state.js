// Works out what the answers say about a suspect, which names fit, and the score.
import { count } from "../kit/words.js";

/** @typedef {ReturnType<typeof read>} State */

/** @param {import("../kit/model.js").Model} model */
export function read(model) {
  /** @type {[name: string, room: string, wrong: string, place: string][]} */
  const pieces = model.get("pieces");
  /** @type {[title: string, isFree: boolean, meaning: string][]} */
  const pictures = model.get("pictures");
  /** @type {[number, string, number[]][]} */
  const levels = model.get("levels");
  /** @type {string[]} */
  const probes = model.get("probes");
  /** @type {[piece: number, question: number][]} */
  const allAsked = model.get("asked");
  /** @type {[piece: number, other: number][]} */
  const allAccused = model.get("accused");
  /** @type {number[][]} */
  const answers = model.get("answers");
  /** @type {string[]} */
  const words = model.get("tokens");

  const order = levels.find(([level]) => level === model.get("level"))?.[2] ?? [0];
  const number = Math.max(1, Math.min(model.get("suspect"), order.length));
  const piece = order[number - 1];
  const shown = Math.max(0, Math.min(model.get("picture"), pictures.length - 1));
  const asked = allAsked.filter(([who]) => who === piece).map(([, question]) => question);
  const accused = allAccused.filter(([who]) => who === piece).map(([, other]) => other);
  const isFound = accused.includes(piece);
  const seen = isFound || pictures[shown][1] || asked.includes(probes.length + shown);
  return {
    ...{ order, number, piece, pieces, pictures, answers, probes, words },
    ...{ shown, seen, asked, accused, isFound, allAsked, allAccused },
  };
}

/** @param {State} state */
export function describe(state) {
  return `${about(state)} ${score(state)}`;
}

/** @param {State} state */
function about(state) {
  const { order, number, piece, pieces, asked, accused, isFound } = state;
  const who = `Suspect ${number} of ${order.length}`;
  const [name, , wrong, place] = pieces[piece];
  if (isFound) return `${who} is “${name}”. ${wrong} Taught in ${place}.`;
  const fit = order.filter((n) => fits(state, n));
  const given = asked.length ? `${count(asked.length, "question")} asked` : "nothing asked yet";
  const said = `${who}: ${given}, ${fit.length} of ${order.length} names fit the answers.`;
  return accused.length ? `${said} ${against(state, accused[accused.length - 1])}` : said;
}

/**
 * Whether a piece would have given all the answers that the suspect gave.
 * @param {State} state
 * @param {number} n
 */
export function fits({ answers, piece, asked }, n) {
  return asked.every((question) => answers[n][question] === answers[piece][question]);
}

/**
 * Why the suspect is not the piece it was said to be.
 * @param {State} state
 * @param {number} other
 */
function against(state, other) {
  const { answers, piece, pieces, pictures, probes, asked } = state;
  /** @param {number} question */
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

/**
 * @param {State} state
 * @param {number} question
 * @param {number} other
 */
function difference({ answers, pictures, probes }, question, other) {
  if (question >= probes.length) {
    return `in “${pictures[question - probes.length][0]}” it would look different`;
  }
  return `“${probes[question]}” would ${answers[other][question] ? "" : "not "}catch it`;
}

/** @param {State} state */
function score({ order, allAsked, allAccused }) {
  const accused = allAccused.filter(([piece]) => order.includes(piece));
  const right = accused.filter(([piece, other]) => piece === other);
  const found = new Set(right.map(([piece]) => piece));
  const asked = allAsked.filter(([piece]) => order.includes(piece)).length;
  return (
    `Found ${found.size} of ${order.length}: ${count(asked, "question")}, ` +
    `${count(accused.length, "accusation")}.`
  );
}
