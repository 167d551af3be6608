// Shows and hides parts of the page. Every number comes from the JSON of the page.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("calipers-data").textContent).charts;
  const tip = document.getElementById("tip");
  const text = (value) => (value === null ? "–" : String(value));
  let step = null;
  let active = null;

  const rowsOf = (chart) => chart.rows || chart.steps[step === null ? 0 : step];

  const hide = () => {
    if (active) active.cursor.setAttribute("visibility", "hidden");
    active = null;
    tip.hidden = true;
  };

  // Shows the values of one row beside its position in the chart.
  const show = (plot, place) => {
    const { chart, svg, cursor } = plot;
    const row = rowsOf(chart)[place];
    if (!row || plot.x[place] === null) return;
    if (active && active !== plot) hide();
    active = plot;
    plot.place = place;
    const x = plot.x[place];
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    tip.replaceChildren(
      ...chart.columns.map((column, index) => {
        const line = document.createElement("div");
        const name = document.createElement("span");
        const value = document.createElement("b");
        name.textContent = column;
        value.textContent = text(row[index]);
        line.append(name, value);
        return line;
      }),
    );
    tip.hidden = false;
    const box = svg.getBoundingClientRect();
    const at = box.left + (x * box.width) / svg.viewBox.baseVal.width;
    const width = tip.offsetWidth;
    const left = at + 12 + width > document.documentElement.clientWidth ? at - 12 - width : at + 12;
    tip.style.left = Math.max(4, left) + window.scrollX + "px";
    tip.style.top = box.top + window.scrollY + 12 + "px";
  };

  for (const element of document.querySelectorAll("figure[data-chart] .plot")) {
    const chart = data[element.closest("figure").dataset.chart];
    const plot = {
      chart,
      element,
      // Each view of a chart has its own positions.
      x: (chart.views || {})[element.dataset.view] || chart.x,
      svg: element.querySelector("svg"),
      cursor: element.querySelector(".cursor"),
      place: null,
    };
    plot.element.addEventListener("pointermove", (event) => {
      const box = plot.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) * plot.svg.viewBox.baseVal.width) / box.width;
      let nearest = null;
      plot.x.forEach((place, index) => {
        if (place === null) return;
        if (nearest === null || Math.abs(place - x) < Math.abs(plot.x[nearest] - x)) nearest = index;
      });
      if (nearest !== null) show(plot, nearest);
    });
    plot.element.addEventListener("pointerleave", hide);
    plot.element.addEventListener("blur", hide);
    plot.element.addEventListener("keydown", (event) => {
      const change = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (event.key === "Escape") hide();
      if (change === undefined) return;
      event.preventDefault();
      // Points outside the axes have no position.
      const known = [...plot.x.keys()].filter((place) => plot.x[place] !== null);
      const at = plot.place === null ? -1 : known.indexOf(plot.place);
      const next = at < 0 ? Math.floor((known.length - 1) / 2) : at + change;
      show(plot, known[Math.min(known.length - 1, Math.max(0, next))]);
    });
  }

  const slider = document.getElementById("sigma");
  if (slider) {
    const notes = [...document.querySelectorAll("#sigma-notes li")].map((note) => note.textContent);
    const output = document.getElementById("sigma-value");
    const move = () => {
      step = Number(slider.value);
      hide();
      output.textContent = notes[step];
      for (const element of document.querySelectorAll("[data-step]")) {
        element.style.display = Number(element.dataset.step) === step ? "" : "none";
      }
      for (const figure of document.querySelectorAll("figure[data-chart]")) {
        const chart = data[figure.dataset.chart];
        if (!chart.steps) continue;
        figure.querySelector(".note").textContent = chart.notes[step];
        const body = figure.querySelector("tbody");
        chart.steps[step].forEach((row, index) => {
          row.forEach((value, column) => (body.rows[index].cells[column].textContent = text(value)));
        });
      }
    };
    step = Number(slider.dataset.chosen);
    slider.addEventListener("input", move);
    document.getElementById("sigma-reset").addEventListener("click", () => {
      slider.value = slider.dataset.chosen;
      move();
    });
  }

  for (const button of document.querySelectorAll("table.sortable th button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const place = head.cellIndex;
      const body = head.closest("table").tBodies[0];
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => (row.cells[place] ? row.cells[place].dataset.value : "NaN");
      const isText = !head.classList.contains("n");
      const order = (a, b) => {
        const [first, second] = [value(a), value(b)];
        if (isText) return first.localeCompare(second, undefined, { numeric: true });
        const [x, y] = [Number(first), Number(second)];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return x - y;
      };
      const rows = [...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
      // Rows without a number come last in both directions.
      if (!isText) rows.sort((a, b) => Number.isNaN(Number(value(a))) - Number.isNaN(Number(value(b))));
      body.append(...rows);
    });
  }
})();
