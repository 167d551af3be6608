// Typesets the formulas of a page with KaTeX, which is part of the site. Pages without formulas load nothing.
(() => {
  const folder = new URL("katex/", document.currentScript.src);
  const formulas = document.querySelectorAll(".arithmatex");
  if (formulas.length === 0) return;

  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("katex.min.css", folder);
  const script = document.createElement("script");
  script.src = new URL("katex.min.js", folder);
  script.addEventListener("load", () => {
    for (const formula of formulas) {
      // The text is \( ... \) or \[ ... \].
      const text = formula.textContent.trim();
      katex.render(text.slice(2, -2), formula, { displayMode: text.startsWith("\\["), throwOnError: false });
    }
  });
  document.head.append(style, script);
})();
