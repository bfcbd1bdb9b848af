// Light, dark, or as the system has it; the choice is kept.

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
}

function startTheme() {
  let theme = storage.get("graylearn:theme");
  if (!THEMES.includes(theme)) theme = "auto";
  setTheme(theme);
  byId("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    storage.set("graylearn:theme", theme);
  });
}
