// Which parsers read the output: those that were picked, else those of the model, else what the output looks like.

import * as service from "./service.js";

/** Code points from each end of a long output that detection looks at: it reads them with every format. */
const SAMPLE = 8000;
const byModel = new Map();
let lastSample = { text: null, candidates: [] };
let formats = null;

/** Every format the service knows. */
export async function knownFormats() {
  formats ??= (await service.listParsers()).parsers;
  return formats;
}

/** Forget what was asked without a key. */
export function forgetFormats() {
  formats = null;
}

const KINDS = [
  { kind: "tool_call", picked: "toolParser", member: "tool_call_parser" },
  { kind: "reasoning", picked: "reasoningParser", member: "reasoning_parser" },
];

/** For each side: {parser, why, source, others}. `source` is picked, model, output or nothing. */
export async function chooseParsers(state, signal) {
  const sides = {};
  for (const { kind, picked, member } of KINDS) {
    if (state[picked] !== "auto") {
      sides[kind] = { parser: state[picked], source: "picked", why: "you picked it", others: [] };
      continue;
    }
    const found = (state.model && (await fromModel(state.model, kind, member, signal))) || (await fromOutput(state.text, kind, signal));
    sides[kind] = found;
  }
  return sides;
}

async function fromModel(model, kind, member, signal) {
  if (!byModel.has(model)) {
    if (byModel.size > 100) byModel.clear();
    byModel.set(model, await service.detect({ model }, signal));
  }
  const answer = byModel.get(model);
  const side = answer.parsers[kind === "tool_call" ? "tool_call_parser" : "reasoning_parser"];
  if (side.decided_by === "nothing") return null;
  return { parser: answer[member], source: "model", why: `by the model's name: ${side.why}`, others: [] };
}

async function fromOutput(text, kind, signal) {
  const sample = text.length > 2 * SAMPLE ? text.slice(0, SAMPLE) + text.slice(-SAMPLE) : text;
  if (lastSample.text !== sample) lastSample = { text: sample, candidates: (await service.detect({ text: sample }, signal)).candidates };
  const fitting = lastSample.candidates.filter((candidate) => candidate.kind === kind);
  if (fitting.length) {
    const [best, ...others] = fitting;
    return { parser: best.parser, source: "output", score: best.score, why: best.reasons.join("; "), others: others.slice(0, 3) };
  }
  return (await fromMarkers(text, kind)) ?? { parser: "passthrough", source: "nothing", why: "nothing in the output looks like one", others: [] };
}

/** Detection wants a block that can be read; a broken one still shows by its marker whose it was meant to be. */
async function fromMarkers(text, kind) {
  for (const format of await knownFormats()) {
    if (format.kind !== kind) continue;
    const marker = format.markers.find((one) => one.length > 3 && text.includes(one));
    if (marker) {
      const why = `holds its marker ${marker}, though nothing behind it could be read`;
      return { parser: format.names[0], source: "output", why, others: [] };
    }
  }
  return null;
}
