// Shares tokens and heads among processes, and says who holds which tiles and what is sent.

import { count } from "../kit/words.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof compute>} State */
/** @typedef {"" | "head" | "whole" | "unread"} Kind */

export const WAYS = ["heads", "trading", "ring"];
/** @type {Record<string, string[]>} */
const STEPS = {
  heads: [
    "every process has all of x",
    "every process has its heads of all tokens",
    "what all heads write is added up, for every process",
  ],
  trading: [
    "every process has all heads of its tokens",
    "traded: every process has its heads of all tokens",
    "traded back: every process has all heads of its tokens",
  ],
};

/** The last step of the way that is chosen. @param {Model} model */
export function lastStep(model) {
  return model.get("way") === "ring" ? model.get("num_processes") - 1 : 2;
}

/** @param {Model} model */
export function compute(model) {
  const [p, h, t] = ["num_processes", "num_heads", "seq_len"].map((name) => model.get(name));
  const last = lastStep(model);
  /** @param {number} number */
  const shares = (number) => Array.from({ length: number }, (_, n) => Math.floor((n * p) / number));
  const ranks = Array.from({ length: p }, (_, rank) => rank);
  const [tokens, heads] = [shares(t), shares(h)];
  return {
    ...{ p, h, t, last, ranks, tokens, heads },
    way: /** @type {string} */ (model.get("way")),
    step: Math.min(model.get("step"), last),
    tokenCounts: ranks.map((rank) => tokens.filter((owner) => owner === rank).length),
    headCounts: ranks.map((rank) => heads.filter((owner) => owner === rank).length),
  };
}

/**
 * What a process holds of one head of one token.
 * @param {State} state
 * @param {number} rank
 * @param {number} token
 * @param {number} head
 * @returns {Kind}
 */
export function tileOf({ way, step, p, tokens, heads }, rank, token, head) {
  if (way === "ring") {
    const note = (rank - step + p) % p;
    if (tokens[token] !== note) return "";
    return note <= rank ? "head" : "unread";
  }
  if (way === "heads" && step !== 1) return "whole";
  return (step === 1 ? heads[head] : tokens[token]) === rank ? "head" : "";
}

/** Processes without a head; in a ring those that read no note at this step. @param {State} state */
function idle({ way, step, ranks, tokenCounts, headCounts }) {
  if (way !== "ring") return headCounts.filter((number) => number === 0).length;
  const reads = ranks.filter((r) => r >= step && tokenCounts[r] > 0 && tokenCounts[r - step] > 0);
  return ranks.length - reads.length;
}

/** @param {State} state */
export function describe(state) {
  const { way, step, last } = state;
  const who = way === "ring" ? "that read nothing at this step" : "without a head";
  return (
    `${way}, step ${step} of ${last}: ${textOf(way, step)}. ` +
    `Processes ${who}: ${idle(state)}.`
  );
}

/**
 * @param {string} way
 * @param {number} step
 */
function textOf(way, step) {
  if (way !== "ring") return STEPS[way][step];
  return step
    ? `every note has moved on by ${count(step, "place")}`
    : "every process holds its own keys and values";
}
