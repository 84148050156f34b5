// The tokens tab: one pill for each token, for one tokenizer or for two side by side.

import { byId, count, debounced, grouped, h } from "./dom.js";
import { kindName, stretchAt } from "./links.js";
import { Offsets } from "./offsets.js";
import { bytesOf, cutOf, hex, pieceAt, visibleText } from "./pieces.js";
import { PillList } from "./pill-list.js";
import * as service from "./service.js";

/** Longest text, in UTF-16 units, whose tokens are shown one by one. */
const SHOWN = 30_000;
const PARTS = [["reasoning", ["reasoning"]], ["answer", ["content"]], ["calls", ["call", "fault"]], ["markers and white space", ["markup", "frame"]]];

export class TokensTab {
  constructor(store) {
    this.store = store;
    this.names = null;
    this.#build();
    this.later = debounced(() => this.#load(), 150);
    store.on(["text", "tokenizer", "other", "addSpecial", "parseSpecial", "tab"], () => this.later());
    store.on(["reading"], () => this.#table());
    store.on(["linked"], () => this.#link(store.get("linked") ?? store.get("chosen")));
    store.on(["chosen"], () => this.#link(store.get("chosen"), true));
  }

  #build() {
    const { store } = this;
    const select = (id, name) => h("select", { id, onchange: (event) => store.set({ [name]: event.target.value }) });
    const box = (id, name, label) => {
      const input = h("input", { id, type: "checkbox", checked: store.get(name), onchange: (event) => store.set({ [name]: event.target.checked }) });
      store.on([name], () => (input.checked = store.get(name)));
      return h("label", { class: "check" }, input, label);
    };
    this.first = select("tokenizer", "tokenizer");
    this.second = select("other-tokenizer", "other");
    this.note = h("p", { class: "note", role: "status" });
    this.numbers = h("table", { class: "numbers" });
    this.detail = h("p", { class: "token-detail", role: "status" });
    this.lists = [new PillList(store, "Tokens", (...which) => this.#tell(0, ...which)), new PillList(store, "Tokens of the second tokenizer", (...which) => this.#tell(1, ...which))];
    this.columns = this.lists.map((list) => h("section", { class: "column", hidden: true }, h("h3", {}), list.root));
    const field = (id, label, control) => h("div", { class: "field" }, h("label", { for: id }, label), control);
    byId("panel-tokens").append(
      h("section", { class: "card pickers", "aria-label": "Tokenizers" },
        h("div", { class: "fields" }, field("tokenizer", "Tokenizer", this.first), field("other-tokenizer", "Side by side with", this.second)),
        h("div", { class: "checks" }, box("parse-special", "parseSpecial", "special tokens in the text count as such"), box("add-special", "addSpecial", "add special tokens around it"))),
      this.note, h("div", { class: "columns" }, this.columns), this.detail, this.numbers);
  }

  /** Ask for the tokenizers again, after a key was given. */
  reload() {
    this.names = null;
    this.later();
  }

  async #load() {
    const state = { ...this.store.values };
    if (state.tab !== "tokens") {
      this.store.set({ tokenAt: null });
      return;
    }
    this.controller?.abort();
    const controller = (this.controller = new AbortController());
    try {
      await this.#loadNames();
      const chosen = this.#chosen(state);
      if (!chosen.length || !state.text) {
        this.#clear(chosen.length ? "There is no output to cut into tokens yet." : "No tokenizer is loaded. Start the service with --demo, or add one with POST /v1/tokenizers.");
        return;
      }
      const results = await Promise.all(chosen.map((name) => this.#tokens(name, state, controller.signal)));
      if (!controller.signal.aborted) this.#show(chosen, results, state);
    } catch (error) {
      if (error.name !== "AbortError") this.#clear(error.message);
    }
  }

  async #loadNames() {
    if (this.names) return;
    this.names = (await service.listTokenizers()).tokenizers.map((tokenizer) => tokenizer.name);
    const options = () => this.names.map((name) => h("option", { value: name }, name));
    this.first.replaceChildren(...options());
    this.second.replaceChildren(h("option", { value: "" }, "nothing"), ...options());
  }

  #chosen({ tokenizer, other, model }) {
    if (!this.names.length) return [];
    const wanted = model.toLowerCase();
    const first = this.names.includes(tokenizer) ? tokenizer : (this.names.find((name) => wanted.includes(name.toLowerCase().match(/^[a-z]+/)?.[0] ?? name)) ?? this.names[0]);
    this.first.value = first;
    for (const option of this.second.options) option.disabled = option.value === first;
    this.second.value = this.names.includes(other) && other !== first ? other : "";
    return this.second.value ? [first, other] : [first];
  }

  async #tokens(name, state, signal) {
    const options = { model: name, add_special_tokens: state.addSpecial, parse_special: state.parseSpecial };
    let shown = state.text;
    if (shown.length > SHOWN) shown = shown.slice(0, SHOWN).replace(/[\ud800-\udbff]$/, "");
    const { pieces } = await service.tokenize({ ...options, prompt: shown, pieces: true }, signal);
    const whole = shown === state.text ? pieces.length : (await service.tokenize({ ...options, prompt: state.text }, signal)).count;
    return { pieces, whole, isWhole: shown === state.text };
  }

  #clear(message) {
    this.note.textContent = message;
    this.results = null;
    this.columns.forEach((column) => (column.hidden = true));
    this.detail.textContent = "";
    this.numbers.replaceChildren();
    this.store.set({ tokenAt: null });
  }

  #show(names, results, state) {
    this.results = { names, results, text: state.text };
    this.note.textContent = results[0].isWhole ? "" : `The tokens of the first ${grouped(SHOWN)} characters are shown one by one; the numbers are those of the whole output.`;
    const cuts = results.map(({ pieces }) => new Set(pieces.map(cutOf)));
    this.columns.forEach((column, index) => {
      column.hidden = index >= results.length;
      if (column.hidden) return;
      column.firstChild.textContent = `${names[index]}: ${count(results[index].whole, "token")}`;
      this.lists[index].show(results[index].pieces, results.length > 1 ? cuts[1 - index] : null);
    });
    this.detail.textContent = "Point at a token, or walk through them with the arrow keys.";
    const { pieces } = results[0];
    this.store.set({
      tokenAt: (point) => {
        const piece = pieces[pieceAt(pieces, point)];
        return piece && piece.start !== null && piece.start <= point ? [piece.start, piece.end] : null;
      },
    });
    this.#table();
  }

  /** How many tokens each kind of stretch takes: a token counts for that of its first character. */
  #table() {
    if (!this.results) return;
    const { names, results, text } = this.results;
    const { reading } = this.store.values;
    const bytes = new TextEncoder().encode(text).length;
    const points = new Offsets(text).length;
    const row = (label, values) => h("tr", {}, h("th", { scope: "row" }, label), values.map((value) => h("td", {}, value)));
    const rows = [row("tokens", results.map(({ whole }) => grouped(whole))), row("characters per token", results.map(({ whole }) => (points / whole).toFixed(2))), row("bytes per token", results.map(({ whole }) => (bytes / whole).toFixed(2)))];
    if (reading.status === "done" && reading.offsets.text === text && results.every(({ isWhole }) => isWhole)) {
      for (const [label, kinds] of PARTS) {
        const numbers = results.map(({ pieces }) => pieces.filter((piece) => piece.start !== null && kinds.includes(stretchAt(reading.answer.spans, piece.start)?.span.kind)).length);
        if (numbers.some(Boolean)) rows.push(row(`in ${label}`, numbers.map(grouped)));
      }
    }
    if (results.length > 1) {
      const cuts = results.map(({ pieces }) => new Set(pieces.map(cutOf)));
      rows.push(row("cuts that differ", results.map(({ pieces }, index) => grouped(pieces.filter((piece) => !cuts[1 - index].has(cutOf(piece))).length))));
    }
    this.numbers.replaceChildren(
      h("caption", { class: "visually-hidden" }, "Numbers"),
      h("thead", {}, h("tr", {}, h("td", {}), names.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows));
  }

  #tell(list, piece, index) {
    const { names } = this.results;
    const bytes = bytesOf(piece);
    const { reading } = this.store.values;
    const found = piece.start !== null && reading.status === "done" ? stretchAt(reading.answer.spans, piece.start) : null;
    const words = [
      names.length > 1 && names[list], `token ${grouped(index)}`, `id ${piece.id}`, piece.special && "special",
      count(bytes.length, "byte"), piece.start === null ? "not in the text" : `characters ${piece.start}–${piece.end}`, found && `in ${kindName(found.span.kind)}`,
    ];
    this.detail.replaceChildren(h("code", {}, visibleText(piece.text) || "∅"), h("span", {}, words.filter(Boolean).join(" · ")), h("code", { class: "bytes" }, hex(bytes)));
  }

  #link(range, reveal = false) {
    if (!this.results || this.store.get("tab") !== "tokens") return;
    this.results.names.forEach((_name, index) => {
      this.lists[index].mark(range);
      if (reveal && range && this.store.get("chosenBy") === "text") this.lists[index].reveal(range);
    });
  }
}
