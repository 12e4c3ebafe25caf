// Runs before the first paint, so that the page never flashes in the wrong theme. A file of its own because the
// content security policy allows no inline script.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem("steadyhand.theme");
  } catch {
    // Storage may be forbidden; the system's choice is a good default.
  }
  const light = choice === "light" || (choice !== "dark" && matchMedia("(prefers-color-scheme: light)").matches);
  document.documentElement.dataset.theme = light ? "light" : "dark";
})();
