// What a token is, in words and colours.

/** The bytes of a piece. */
export function bytesOf(piece) {
  return Uint8Array.from(atob(piece.bytes), (character) => character.charCodeAt(0));
}

/** Bytes as "F0 9F 98 80". */
export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ");

/** Whether the token begins or ends inside a character, so that its text does not show it. */
export const isCut = (piece) => !piece.special && piece.text.includes("\ufffd");

const SIGNS = { " ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽" };
const UNSEEN = /[ \u0000-\u001f\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]/g;

/** A token's text with white space that can be seen; its bytes where it is a piece of a character. */
export function visiblePiece(piece) {
  if (isCut(piece)) return hex(bytesOf(piece));
  return visibleText(piece.text) || "∅";
}

/** A text with white space and control characters that can be seen. */
export function visibleText(text) {
  return text.replace(UNSEEN, (sign) => SIGNS[sign] ?? `‹${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** A hue that is the same wherever this id occurs, and far from that of its neighbours. */
export const hueOf = (id) => Math.round((id * 137.508) % 360);

/** Key of the stretch of a token, to compare the cuts of two tokenizers. */
export const cutOf = (piece) => (piece.start === null ? null : `${piece.start}:${piece.end}`);

/** The index of the first piece that ends behind `point`. */
export function pieceAt(pieces, point) {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pieces[middle].end ?? 0) <= point) low = middle + 1;
    else high = middle;
  }
  return low;
}
