// The stream tab: chunks of any size, and a playhead that shows what was certain at every position.

import { byId, count, debounced, grouped, h } from "./dom.js";
import { knownFormats } from "./parsers.js";
import { markersOf, stateAt, stepsOf, whyHeld } from "./playback.js";
import * as service from "./service.js";

const LARGEST_CHUNK = 64;
const MOST_STEPS = 4000;
const MOST_EVENTS = 40;
const TICK = 70;

export class StreamTab {
  constructor(store) {
    this.store = store;
    this.steps = [];
    this.events = [];
    this.step = 0;
    this.timer = 0;
    this.#build();
    this.later = debounced(() => this.#load(), 150);
    store.on(["reading", "chunkSize", "tab"], () => this.later());
  }

  #build() {
    this.size = h("input", { id: "chunk-size", type: "range", min: 1, max: LARGEST_CHUNK, value: this.store.get("chunkSize") });
    this.size.addEventListener("input", () => this.store.set({ chunkSize: Number(this.size.value) }));
    this.sizeText = h("output", { for: "chunk-size" });
    this.head = h("input", { id: "playhead", type: "range", min: 0, max: 0, value: 0 });
    this.head.addEventListener("input", () => this.#go(Number(this.head.value)));
    this.position = h("output", { for: "playhead" });
    this.play = h("button", { type: "button", onclick: () => this.#toggle() }, "Play");
    this.graph = h("div", { class: "graph", "aria-hidden": "true" });
    this.check = h("button", { type: "button", onclick: () => this.#check() }, "Compare cuttings");
    this.checked = h("p", { class: "checked", role: "status" });
    this.note = h("p", { class: "note", role: "status" });
    this.now = h("div", { class: "stream-state" });
    const button = (label, words, work) => h("button", { type: "button", "aria-label": words, title: words, onclick: work }, label);
    this.player = h("div", {},
      h("section", { class: "card player", "aria-label": "Player" },
        h("div", { class: "slider" }, h("label", { for: "chunk-size" }, "Chunk size"), this.size, this.sizeText),
        h("div", { class: "slider" }, h("label", { for: "playhead" }, "Playhead"), h("div", { class: "track" }, this.graph, this.head), this.position),
        h("div", { class: "actions" },
          button("«", "To the start", () => this.#go(0)), button("‹", "One chunk back", () => this.#go(this.step - 1)), this.play,
          button("›", "One chunk on", () => this.#go(this.step + 1)), button("»", "To the end", () => this.#go(this.steps.length - 1)),
          h("span", { class: "gap" }), this.check),
        this.checked),
      this.now);
    byId("panel-stream").append(this.note, this.player);
  }

  async #load() {
    const { reading, tab, chunkSize } = this.store.values;
    if (tab !== "stream") {
      this.#stop();
      return;
    }
    const ready = reading.status === "done";
    this.player.hidden = !ready;
    this.note.textContent = ready ? "" : reading.status === "failed" ? reading.message : "There is no output to stream yet.";
    if (!ready) return;
    const { length } = reading.offsets;
    // Thousands of steps are enough for any screen.
    const size = Math.max(chunkSize, Math.ceil(length / MOST_STEPS));
    this.size.value = chunkSize;
    this.sizeText.textContent = count(size, "character");
    this.controller?.abort();
    this.controller = new AbortController();
    try {
      const events = await service.stream({ ...reading.request, chunk_size: size }, this.controller.signal);
      this.markers = markersOf(await knownFormats(), reading.sides);
      const share = this.steps.length > 1 ? this.step / (this.steps.length - 1) : 1;
      this.events = events.slice(0, -1);
      this.steps = stepsOf(this.events, length, size);
      if (this.reading !== reading) this.checked.textContent = "";
      this.reading = reading;
      this.head.max = this.steps.length - 1;
      this.#draw();
      this.#go(Math.round(share * (this.steps.length - 1)));
    } catch (error) {
      if (error.name !== "AbortError") this.note.textContent = error.message;
    }
  }

  /** How much is held back at every position. */
  #draw() {
    const most = Math.max(1, ...this.steps.map((step) => step.waiting));
    const wide = this.steps.length - 1 || 1;
    const line = this.steps.map((step, index) => `L${((1000 * index) / wide).toFixed(1)} ${(40 - (38 * step.waiting) / most).toFixed(1)}`).join("");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 1000 40");
    svg.setAttribute("preserveAspectRatio", "none");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M0 40${line}L1000 40Z`);
    svg.append(path);
    this.graph.replaceChildren(svg);
    this.graph.title = `At most ${count(most, "character")} held back`;
  }

  #toggle() {
    if (this.timer) {
      this.#stop();
      return;
    }
    if (this.step >= this.steps.length - 1) this.#go(0);
    this.play.textContent = "Pause";
    this.timer = setInterval(() => {
      if (this.step >= this.steps.length - 1) this.#stop();
      else this.#go(this.step + Math.max(1, Math.round(this.steps.length / 400)));
    }, TICK);
  }

  #stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = "Play";
  }

  #go(step) {
    if (!this.steps.length) return;
    this.step = Math.min(Math.max(step, 0), this.steps.length - 1);
    const { fed, events } = this.steps[this.step];
    const before = this.step ? this.steps[this.step - 1] : { fed: 0, events: 0 };
    const { offsets } = this.reading;
    const state = stateAt(this.events.slice(0, events), fed);
    const place = `${grouped(fed)} of ${grouped(offsets.length)}`;
    this.head.value = this.step;
    this.head.setAttribute("aria-valuetext", `${place} characters`);
    this.position.textContent = place;
    this.store.set({ playhead: { fed, held: state.held } });
    const chunk = offsets.slice(before.fed, fed);
    const ended = this.step === this.steps.length - 1;
    this.now.replaceChildren(
      this.#section(ended ? "The last chunk, and the end" : this.step ? `Chunk ${this.step}` : "Before the first chunk",
        chunk && h("p", {}, h("code", { class: "chunk" }, visible(chunk))), this.#said(this.events.slice(before.events, events))),
      this.#held(state, offsets, ended),
      this.#sofar(state));
  }

  #section(title, ...children) {
    return h("section", { class: "card" }, h("h3", {}, title), children);
  }

  #said(events) {
    if (!events.length) return h("p", { class: "aside" }, "Nothing became certain.");
    const more = events.length > MOST_EVENTS && h("li", { class: "aside" }, `and ${count(events.length - MOST_EVENTS, "event")} more`);
    return h("ul", { class: "events" }, events.slice(0, MOST_EVENTS).map((event) =>
      h("li", {}, h("b", { class: `event is-${event.type}` }, event.type), h("code", {}, visible(wordsOf(event))))), more);
  }

  #held(state, offsets, ended) {
    if (state.reading && !ended) {
      return this.#section("Held back", h("p", {}, `The call to ${state.reading.name} is being written; its arguments are sent as they grow.`),
        state.held.map(([start, end]) => h("p", {}, h("code", { class: "chunk is-held" }, visible(offsets.slice(start, end))))));
    }
    if (!state.held.length) return this.#section("Held back", h("p", { class: "aside" }, "Nothing: all that was fed has been told."));
    return this.#section("Held back", state.held.slice(0, 20).map(([start, end]) => {
      const text = offsets.slice(start, end);
      return h("p", {}, h("code", { class: "chunk is-held" }, visible(text.length > 200 ? `${text.slice(0, 200)} …` : text)), " ",
        h("span", { class: "why" }, whyHeld(text, state, this.markers)));
    }));
  }

  #sofar(state) {
    const rows = [];
    const text = (value) => (value.length > 600 ? `… ${value.slice(-600)}` : value);
    if (state.reasoning) rows.push(h("dt", {}, "Reasoning"), h("dd", { class: "prose" }, text(state.reasoning)));
    if (state.content) rows.push(h("dt", {}, "Answer"), h("dd", { class: "prose" }, text(state.content)));
    for (const call of state.calls.slice(-50)) {
      rows.push(h("dt", {}, call.name, " ", h("span", { class: `badge is-${call.status.replace(" ", "-")}` }, call.status)),
        h("dd", {}, h("code", {}, text(call.arguments) || "no arguments yet")));
    }
    return this.#section("Told so far", rows.length ? h("dl", { class: "told" }, rows) : h("p", { class: "aside" }, "Nothing."));
  }

  async #check() {
    this.check.disabled = true;
    this.checked.textContent = "Reading the output in many cuttings …";
    try {
      const { same, cuttings, difference } = await service.check(this.reading.request);
      this.checked.textContent = same
        ? `The same outcome in ${cuttings} cuttings, down to single characters.`
        : `Cutting ${cuttings} differs in ${difference.members.join(", ")}: ${JSON.stringify(difference.in_chunks)} instead of ${JSON.stringify(difference.whole)}`;
    } catch (error) {
      this.checked.textContent = error.message;
    }
    this.check.disabled = false;
  }
}

const visible = (text) => text.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll(" ", "·");

function wordsOf(event) {
  if (event.type === "arguments_delta") return event.json;
  if (event.type === "call_start" || event.type === "call_end") return event.name;
  if (event.type === "call_fault" || event.type === "diagnostic") return event.code;
  return event.text ?? "";
}
