// Puts the page together.

import { byId, h } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { Outcome } from "./outcome.js";
import { Outline } from "./outline.js";
import { forgetFormats } from "./parsers.js";
import { Pickers } from "./pickers.js";
import { RawPane } from "./raw-pane.js";
import { Reader } from "./reader.js";
import { setKey } from "./service.js";
import { fromFragment, toFragment } from "./share.js";
import { asCurl, asPython, asTest } from "./snippets.js";
import { SHARED, Store } from "./store.js";
import { StreamTab } from "./stream-tab.js";
import { setUpTabs } from "./tabs.js";
import { setUpTheme } from "./theme.js";
import { TokensTab } from "./tokens-tab.js";
import { ToolsEditor } from "./tools-editor.js";
import { Verdict } from "./verdict.js";

const LONG_LINK = 30_000;

const store = new Store({ ...SHARED, reading: { status: "empty" }, linked: null, chosen: null, chosenBy: null, playhead: null, tokenAt: null, needsKey: false });
const reader = new Reader(store);

/** Show other values, and read them at once: only typing is let to rest first. */
function open(values) {
  store.set(values);
  reader.now();
}

function toast(message) {
  const element = byId("toast");
  element.textContent = message;
  element.classList.add("is-shown");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => element.classList.remove("is-shown"), 2500);
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch {
    toast("The browser does not let this page copy");
  }
}

function setUpCopies() {
  const snippet = (make, what) => () => {
    const reading = store.get("reading");
    if (reading.status === "done") copy(make(reading), what);
    else toast("There is nothing to copy yet");
  };
  const button = (label, title, work) => h("button", { type: "button", title, onclick: work }, label);
  byId("copies").append(
    h("span", { class: "aside", "aria-hidden": "true" }, "Copy"),
    button("curl", "Copy as a curl command", snippet(asCurl, "curl command")),
    button("Python", "Copy as a Python program", snippet(asPython, "Python program")),
    button("test", "Copy as a test case", snippet(asTest, "Test case")),
    button("link", "Copy a link to this page; all of it is in the link, nothing is sent", async () => {
      const fragment = await toFragment(store.values);
      history.replaceState(null, "", fragment);
      await copy(location.href, fragment.length > LONG_LINK ? "A long link (some programs cut it)" : "Link");
    }),
  );
}

function setUpKey() {
  const dialog = byId("key-dialog");
  const ask = () => {
    byId("key-input").value = "";
    dialog.showModal();
  };
  byId("key-button").addEventListener("click", ask);
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "use") return;
    setKey(byId("key-input").value);
    byId("key-input").value = "";
    forgetFormats();
    pickers.load();
    tokens.reload();
    reader.now();
  });
  return ask;
}

function setUpFiles() {
  const read = async (file) => {
    if (file) open({ text: await file.text(), chosen: null, linked: null });
  };
  byId("raw-file").addEventListener("change", (event) => {
    read(event.target.files[0]);
    event.target.value = "";
  });
  byId("raw-clear").addEventListener("click", () => {
    store.set({ text: "", chosen: null, linked: null, playhead: null });
    byId("raw-input").focus();
  });
  const pane = byId("raw-scroller");
  pane.addEventListener("dragover", (event) => event.preventDefault());
  pane.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
}

async function openLink() {
  try {
    const values = await fromFragment(location.hash);
    if (values) open(values);
  } catch (error) {
    toast(error.message);
  }
}

setUpTabs(store);
setUpTheme(byId("theme-button"));
byId("examples").append(...EXAMPLES.map((example) => h("button", { type: "button", title: example.what, onclick: () => open(example.values()) }, example.title)));
const askForKey = setUpKey();
new RawPane(store);
new Verdict(store, { askForKey, examples: EXAMPLES, open });
const pickers = new Pickers(store);
new Outcome(store);
new Outline(store);
new ToolsEditor(store);
const tokens = new TokensTab(store);
new StreamTab(store);
setUpCopies();
setUpFiles();
addEventListener("hashchange", openLink);
openLink();
