// A link to what is on the page. It is in the fragment, which browsers never send to anybody.

import { SHARED } from "./store.js";

const VERSION = "1";

async function pipe(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

function toBase64(bytes) {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const fromBase64 = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));

/** The fragment for these values: those that are not as on a fresh page. */
export async function toFragment(values) {
  const changed = Object.fromEntries(Object.keys(SHARED).filter((name) => values[name] !== SHARED[name]).map((name) => [name, values[name]]));
  const bytes = new TextEncoder().encode(JSON.stringify(changed));
  return `#${VERSION}.${toBase64(await pipe(bytes, new CompressionStream("deflate-raw")))}`;
}

/** The values in a fragment; null if it holds none. Raises `Error` if it was damaged on its way. */
export async function fromFragment(fragment) {
  const [version, data] = fragment.replace(/^#/, "").split(".", 2);
  if (version !== VERSION || !data) return null;
  let given;
  try {
    given = JSON.parse(new TextDecoder().decode(await pipe(fromBase64(data), new DecompressionStream("deflate-raw"))));
  } catch {
    throw new Error("The link is damaged: a part of it is missing.");
  }
  const values = { ...SHARED };
  for (const [name, value] of Object.entries(given)) {
    if (name in SHARED && typeof value === typeof SHARED[name]) values[name] = value;
  }
  return values;
}
