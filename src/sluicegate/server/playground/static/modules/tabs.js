// The tabs: arrows move between them, as readers of the keyboard expect.

import { byId } from "./dom.js";

const NAMES = ["parse", "tokens", "stream"];

export function setUpTabs(store) {
  const tabs = NAMES.map((name) => byId(`tab-${name}`));
  const show = () => {
    const current = store.get("tab");
    NAMES.forEach((name, index) => {
      const selected = name === current;
      tabs[index].setAttribute("aria-selected", String(selected));
      tabs[index].tabIndex = selected ? 0 : -1;
      byId(`panel-${name}`).hidden = !selected;
    });
    document.body.dataset.tab = current;
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => store.set({ tab: NAMES[index] }));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const target = event.key === "Home" ? 0 : event.key === "End" ? NAMES.length - 1 : step && (index + step + NAMES.length) % NAMES.length;
      if (target === undefined) return;
      event.preventDefault();
      store.set({ tab: NAMES[target] });
      tabs[target].focus();
    });
  });
  store.on(["tab"], show);
  show();
}
