// One pill for each token. The list is one control: arrows move through it.

import { h } from "./dom.js";
import { cutOf, hueOf, isCut, pieceAt, visiblePiece } from "./pieces.js";

const GROUP = 300;
const MOST_MARKED = 3000;
let lists = 0;

export class PillList {
  /** `onPiece(piece, index)` hears which token is looked at. */
  constructor(store, label, onPiece) {
    this.store = store;
    this.onPiece = onPiece;
    this.prefix = `pill-${(lists += 1)}-`;
    this.pieces = [];
    this.pills = [];
    this.current = -1;
    this.root = h("div", { class: "pills", role: "listbox", tabIndex: 0, "aria-label": label });
    this.root.addEventListener("mouseover", (event) => this.#hover(event.target.closest(".pill")));
    this.root.addEventListener("mouseleave", () => store.set({ linked: null }));
    this.root.addEventListener("click", (event) => {
      const pill = event.target.closest(".pill");
      if (pill) this.#choose(Number(pill.dataset.index));
    });
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.root.addEventListener("focus", () => this.current < 0 && this.pieces.length && this.#move(0));
  }

  show(pieces, othersCuts) {
    this.pieces = pieces;
    this.current = -1;
    this.marked = [0, 0];
    this.root.removeAttribute("aria-activedescendant");
    this.pills = pieces.map((piece, index) => this.#pill(piece, index, othersCuts));
    const groups = [];
    for (let start = 0; start < pieces.length; start += GROUP) {
      const group = h("div", { class: "pill-group", role: "presentation" });
      for (let index = start; index < Math.min(start + GROUP, pieces.length); index += 1) {
        group.append(this.pills[index]);
        if (pieces[index].text.endsWith("\n")) group.append(h("br"));
      }
      groups.push(group);
    }
    this.root.replaceChildren(...groups);
  }

  #pill(piece, index, othersCuts) {
    const pill = h("span", { class: "pill", role: "option", id: this.prefix + index, "aria-selected": "false", data: { index } }, visiblePiece(piece));
    if (piece.special) pill.classList.add("is-special");
    else pill.style.setProperty("--hue", hueOf(piece.id));
    if (isCut(piece)) pill.classList.add("is-bytes");
    if (othersCuts && !othersCuts.has(cutOf(piece))) pill.classList.add("differs");
    return pill;
  }

  /** Mark the tokens of a stretch of the text. */
  mark(range) {
    const [from, to] = this.marked ?? [0, 0];
    for (let index = from; index < to; index += 1) this.pills[index].classList.remove("is-linked");
    this.marked = [0, 0];
    if (!range) return;
    const first = pieceAt(this.pieces, range[0]);
    let last = first;
    while (last < this.pieces.length && (this.pieces[last].start ?? Infinity) < range[1] && last - first < MOST_MARKED) last += 1;
    for (let index = first; index < last; index += 1) this.pills[index].classList.add("is-linked");
    this.marked = [first, last];
  }

  /** Bring the first token of a stretch into view. */
  reveal(range) {
    this.pills[pieceAt(this.pieces, range[0])]?.scrollIntoView({ block: "nearest" });
  }

  #hover(pill) {
    if (!pill) return;
    const piece = this.pieces[Number(pill.dataset.index)];
    this.onPiece(piece, Number(pill.dataset.index));
    this.store.set({ linked: piece.start === null ? null : [piece.start, piece.end] });
  }

  #move(index) {
    this.pills[this.current]?.setAttribute("aria-selected", "false");
    this.current = Math.min(Math.max(index, 0), this.pills.length - 1);
    const pill = this.pills[this.current];
    if (!pill) return;
    pill.setAttribute("aria-selected", "true");
    this.root.setAttribute("aria-activedescendant", pill.id);
    const piece = this.pieces[this.current];
    this.onPiece(piece, this.current);
    this.store.set({ linked: piece.start === null ? null : [piece.start, piece.end] });
  }

  #choose(index) {
    this.#move(index);
    const piece = this.pieces[index];
    if (piece.start !== null) this.store.set({ chosenBy: "result", chosen: [piece.start, piece.end] });
  }

  #key(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" || event.key === " ") this.#choose(Math.max(this.current, 0));
    else if (event.key in steps) {
      this.#move(this.current + steps[event.key]);
      this.pills[this.current]?.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
  }
}
