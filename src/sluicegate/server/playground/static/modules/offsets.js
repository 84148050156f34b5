// The service counts code points, the browser counts UTF-16 units.

const SURROGATE = /[\ud800-\udbff][\udc00-\udfff]/;

/** Translates offsets of one text. */
export class Offsets {
  constructor(text) {
    this.text = text;
    /** Position in code points of every character that takes two units; empty for most texts. */
    this.wide = [];
    if (SURROGATE.test(text)) {
      let point = 0;
      for (let unit = 0; unit < text.length; point += 1) {
        if (text.codePointAt(unit) > 0xffff) {
          this.wide.push(point);
          unit += 2;
        } else unit += 1;
      }
    }
    this.length = text.length - this.wide.length;
  }

  /** UTF-16 offset of a code point. */
  unit(point) {
    return point + countBelow(this.wide, point, 0);
  }

  /** Code point at a UTF-16 offset. */
  point(unit) {
    // The n-th wide character begins at unit wide[n] + n.
    return unit - countBelow(this.wide, unit, 1);
  }

  /** The text between two code points. */
  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }
}

function countBelow(wide, limit, step) {
  let low = 0;
  let high = wide.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (wide[middle] + step * middle < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
