// Light, dark, or as the system says.

const ORDER = ["system", "light", "dark"];

export function setUpTheme(button) {
  let theme = localStorage.getItem("theme");
  if (!ORDER.includes(theme)) theme = "system";
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = { system: "Auto", light: "Light", dark: "Dark" }[theme];
    button.setAttribute("aria-label", `${button.textContent}: colours ${theme === "system" ? "as the system says" : theme}`);
  };
  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    localStorage.setItem("theme", theme);
    apply();
  });
  apply();
}
