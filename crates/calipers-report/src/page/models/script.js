// The chart of many models. All values that it shows are read from the table of the page.
(() => {
  "use strict";
  const table = document.getElementById("models-table");
  const find = document.getElementById("find");
  if (!find) return;
  const found = document.getElementById("found");
  const tip = document.getElementById("tip");
  const showAll = document.getElementById("all-groups");
  const entries = [...document.querySelectorAll(".groups li")];
  const plots = [...document.querySelectorAll(".scatter")];
  document.documentElement.classList.add("live");
  tip.classList.add("of-model");

  const labels = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const models = [...table.tBodies[0].rows].map((row) => ({
    row,
    group: Number(row.dataset.group),
    text: (row.cells[0].textContent + "\n" + row.cells[1].textContent).toLowerCase(),
    isShown: true,
    marks: [],
  }));
  for (const mark of document.querySelectorAll(".scatter .mark")) {
    // The page shows the values itself.
    mark.querySelector("title").remove();
    models[Number(mark.dataset.place)].marks.push(mark);
  }

  let active = null;
  const hide = () => {
    for (const ring of document.querySelectorAll(".scatter .ring")) ring.setAttribute("visibility", "hidden");
    active = null;
    tip.hidden = true;
  };

  // The marks of a plot with their centres; a plot that is not visible has no measures.
  const placed = new Map();
  const placesOf = (plot) => {
    if (!placed.has(plot)) {
      const places = [...plot.querySelectorAll(".mark")].map((mark) => {
        const box = mark.getBBox();
        const model = models[Number(mark.dataset.place)];
        return { model, x: box.x + box.width / 2, y: box.y + box.height / 2, r: Math.max(box.width, box.height) / 2 };
      });
      placed.set(plot, places);
    }
    return placed.get(plot).filter((place) => place.model.isShown);
  };

  const line = (label, value) => {
    const element = document.createElement("div");
    const [name, text] = [document.createElement("span"), document.createElement("b")];
    name.textContent = label;
    text.textContent = value;
    text.dir = "auto";
    element.append(name, text);
    return element;
  };

  // Shows the values of a model beside its mark.
  const show = (plot, place) => {
    active = place.model;
    const svg = plot.querySelector("svg");
    const ring = plot.querySelector(".ring");
    ring.setAttribute("cx", place.x);
    ring.setAttribute("cy", place.y);
    ring.setAttribute("r", place.r + 2.5);
    ring.setAttribute("visibility", "visible");
    const cells = [...place.model.row.cells].map((cell) => cell.textContent.trim());
    const name = document.createElement("p");
    name.textContent = cells[0];
    name.dir = "auto";
    tip.replaceChildren(name, ...labels.slice(1).map((label, index) => line(label, cells[index + 1])));
    tip.hidden = false;
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const [x, y] = [box.left + place.x * scale, box.top + place.y * scale];
    const away = place.r * scale + 12;
    const { clientWidth, clientHeight } = document.documentElement;
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    // Beside the mark where there is space, else above or below it.
    let left = x + away;
    let top = y - height / 2;
    if (left + width > clientWidth - 4) left = x - away - width;
    if (left < 4) {
      left = Math.max(4, Math.min(x - width / 2, clientWidth - 4 - width));
      top = y - away - height < 4 ? y + away : y - away - height;
    }
    tip.style.left = left + window.scrollX + "px";
    tip.style.top = Math.max(4, Math.min(top, clientHeight - 4 - height)) + window.scrollY + "px";
  };

  for (const plot of plots) {
    const svg = plot.querySelector("svg");
    const point = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      let nearest = null;
      let least = 18 * scale;
      for (const place of placesOf(plot)) {
        // Inside a mark, its centre counts; so a small mark on a large one can be reached.
        const away = Math.hypot(place.x - x, place.y - y);
        const distance = away <= place.r ? away : away + 4;
        if (distance < least) [nearest, least] = [place, distance];
      }
      if (nearest) show(plot, nearest);
      else hide();
    };
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      const [axis, change] = {
        ArrowLeft: ["x", -1],
        ArrowRight: ["x", 1],
        ArrowUp: ["y", -1],
        ArrowDown: ["y", 1],
        Home: ["x", -Infinity],
        End: ["x", Infinity],
      }[event.key] || [null, 0];
      if (!axis) return;
      event.preventDefault();
      const other = axis === "x" ? "y" : "x";
      const order = placesOf(plot).sort((a, b) => a[axis] - b[axis] || a[other] - b[other]);
      const at = order.findIndex((place) => place.model === active);
      const next = at < 0 && Number.isFinite(change) ? Math.floor((order.length - 1) / 2) : at + change;
      if (order.length) show(plot, order[Math.min(order.length - 1, Math.max(0, next))]);
    });
  }

  // Groups that are not selected disappear; models with other names stay as faint marks.
  const update = () => {
    hide();
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isOn = entries.map((entry) => entry.querySelector("input").checked);
    let n = 0;
    for (const model of models) {
      const isFound = words.every((word) => model.text.includes(word));
      model.isShown = isFound && isOn[model.group];
      model.row.hidden = !model.isShown;
      n += model.isShown;
      for (const mark of model.marks) {
        mark.classList.toggle("gone", !isOn[model.group]);
        mark.classList.toggle("faint", !isFound);
      }
    }
    entries.forEach((entry, group) => entry.classList.toggle("off", !isOn[group]));
    showAll.hidden = isOn.every(Boolean);
    found.textContent = n === models.length ? "" : `${n} of ${models.length} models`;
  };

  const select = (isOn) => {
    entries.forEach((entry, group) => (entry.querySelector("input").checked = isOn(group)));
    update();
  };

  const emphasise = (group) => {
    for (const model of models) {
      for (const mark of model.marks) {
        mark.classList.toggle("strong", model.group === group);
        if (model.isShown) mark.classList.toggle("faint", group !== null && model.group !== group);
      }
    }
  };

  entries.forEach((entry, group) => {
    entry.querySelector("input").addEventListener("change", update);
    entry.querySelector(".only").addEventListener("click", () => {
      const isAlone = entries.every((other, place) => other.querySelector("input").checked === (place === group));
      select((place) => isAlone || place === group);
    });
    for (const [event, shown] of [["pointerenter", group], ["focusin", group], ["pointerleave", null], ["focusout", null]]) {
      entry.addEventListener(event, () => emphasise(shown));
    }
  });
  showAll.addEventListener("click", () => select(() => true));
  find.addEventListener("input", update);
  for (const input of document.querySelectorAll("input[name='axes']")) input.addEventListener("change", hide);
  window.addEventListener("resize", hide);
  // A browser may have kept what was selected before.
  update();
})();
