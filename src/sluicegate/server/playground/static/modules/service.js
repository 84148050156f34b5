// Calls to the service that this page came from. The key stays in this module: it is never stored or shared.

const ROOT = new URL("..", document.baseURI);
let key = "";

/** Set the key that goes with every request; "" for none. */
export function setKey(value) {
  key = value.trim();
}

/** Whether a key was given. */
export const hasKey = () => key !== "";

/** The address of the service, for examples of requests. */
export const serviceAddress = () => ROOT.href.replace(/\/$/, "");

/** A refusal of the service, or no answer at all (status 0). */
export class ServiceError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function send(method, path, body, signal) {
  const headers = {};
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(new URL(path, ROOT), { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(0, "The service does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  throw new ServiceError(answer.status, messageOf(await answer.text(), answer.status));
}

function messageOf(text, status) {
  try {
    const { error } = JSON.parse(text);
    return typeof error === "string" ? error : error.message;
  } catch {
    return text.slice(0, 200) || `The service answered ${status}.`;
  }
}

const ask = async (method, path, body, signal) => (await send(method, path, body, signal)).json();

export const parse = (body, signal) => ask("POST", "parse", body, signal);
export const detect = (body, signal) => ask("POST", "parse/detect", body, signal);
export const check = (body, signal) => ask("POST", "parse/check", body, signal);
export const listParsers = () => ask("GET", "parse/parsers");
export const listTokenizers = () => ask("GET", "v1/tokenizers");
export const tokenize = (body, signal) => ask("POST", "v1/tokenize", body, signal);

/** The events of an output in chunks; the last one is the outcome. */
export async function stream(body, signal) {
  const text = await (await send("POST", "parse/stream", body, signal)).text();
  const events = [];
  for (const line of text.split("\n")) if (line.startsWith("data:")) events.push(JSON.parse(line.slice(5)));
  const last = events.at(-1);
  if (last?.error !== undefined) throw new ServiceError(400, last.error);
  return events;
}
