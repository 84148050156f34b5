// Reads the output whenever it, or how it is read, changes.

import { debounced } from "./dom.js";
import { Offsets } from "./offsets.js";
import { chooseParsers } from "./parsers.js";
import * as service from "./service.js";
import { checkTools } from "./tools.js";

const INPUTS = ["text", "model", "toolParser", "reasoningParser", "inReasoning", "tools"];

/** Keeps `reading` in the store: {status: empty | busy | done | failed, …}. */
export class Reader {
  #controller = null;

  constructor(store) {
    this.store = store;
    this.later = debounced(() => this.#read(), 120);
    store.on(INPUTS, () => this.later());
  }

  /** Read now. */
  now() {
    this.later.now();
  }

  async #read() {
    this.#controller?.abort();
    const state = { ...this.store.values };
    if (state.text === "") {
      this.store.set({ reading: { status: "empty" }, chosen: null, linked: null });
      return;
    }
    const controller = new AbortController();
    this.#controller = controller;
    const started = performance.now();
    try {
      const sides = await chooseParsers(state, controller.signal);
      const request = requestFor(state, sides);
      const answer = await service.parse({ ...request, explain: true }, controller.signal);
      if (controller.signal.aborted) return;
      const offsets = new Offsets(state.text);
      const milliseconds = performance.now() - started;
      this.store.set({ reading: { status: "done", answer, offsets, sides, request, milliseconds }, linked: null, needsKey: false });
    } catch (error) {
      if (error.name === "AbortError") return;
      const needsKey = error.status === 401 || error.status === 403;
      this.store.set({ reading: { status: "failed", message: error.message, needsKey }, needsKey });
    }
  }
}

/** The body for the parsing routes, with the parsers by name. */
export function requestFor(state, sides) {
  const request = { text: state.text, tool_call_parser: sides.tool_call.parser, reasoning_parser: sides.reasoning.parser };
  const { tools, problems } = checkTools(state.tools);
  if (tools?.length && !problems.some((problem) => problem.fatal)) request.tools = tools;
  if (state.inReasoning) request.in_reasoning = state.inReasoning === "true";
  return request;
}
