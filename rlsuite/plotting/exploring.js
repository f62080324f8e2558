// Sliders, and the answer to where they stand. `model` is a widget's in a notebook; a page has one of the same methods.
const NAMESPACE = "http://www.w3.org/2000/svg";

function add(parent, name, attributes = {}, text = "") {
  const made = parent.appendChild(document.createElementNS(NAMESPACE, name));
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

function titled(parent, text) {
  const group = add(parent, "g");
  add(group, "title", {}, text);
  return group;
}

// The ends of the scale of a kind of picture: the same at all positions of the sliders, as far as they are known.
function scale(look, kind, numbers) {
  const known = (look.extremes ??= {})[kind] ?? [Infinity, -Infinity];
  return (look.extremes[kind] = [Math.min(known[0], ...numbers), Math.max(known[1], ...numbers)]);
}

// Each drawing adds to an <svg>, and returns its width and height.
const drawings = {
  bars(svg, picture, look) {
    const [height, left, wide] = [220, 60, Math.max(6, Math.min(60, 640 / picture.values.length))];
    const [low, high] = scale(look, "bars", [0, ...picture.values.filter((value) => value !== null)]);
    const y = (value) => 10 + ((high - value) / (high - low || 1)) * height;
    for (const value of new Set([low, 0, high])) {
      add(svg, "line", { x1: left, x2: left + wide * picture.values.length, y1: y(value), y2: y(value), stroke: look.line });
      add(svg, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", "font-size": 11 }, String(+value.toPrecision(4)));
    }
    picture.values.forEach((value, at) => {
      const bar = titled(svg, picture.said[at]);
      const [x, top] = [left + at * wide, Math.min(y(value), y(0))];
      add(bar, "rect", { x: x + 1, y: top, width: wide - 2, height: Math.max(1, Math.abs(y(value) - y(0))), fill: look.blue });
      if (wide > 35)
        picture.below[at].forEach((word, line) =>
          add(bar, "text", { x: x + wide / 2, y: height + 26 + 14 * line, "text-anchor": "middle", "font-size": 10 }, word));
    });
    return [left + wide * picture.values.length + 10, height + 48];
  },

  lines(svg, picture, look) {
    const [width, height, left] = [460, 260, 60];
    const [low, high] = scale(look, "lines", picture.lines.flatMap(([ends]) => ends));
    const x = (belief) => left + belief * width;
    const y = (value) => 10 + ((high - value) / (high - low || 1)) * height;
    for (const value of [low, high])
      add(svg, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", "font-size": 11 }, String(+value.toPrecision(4)));
    add(svg, "rect", { x: left, y: 10, width, height, fill: "none", stroke: look.line });
    for (const [ends, action, said] of picture.lines) {
      const line = titled(svg, said);
      const colour = look.palette[action % look.palette.length];
      add(line, "line", { x1: x(0), x2: x(1), y1: y(ends[0]), y2: y(ends[1]), stroke: colour, opacity: 0.35 });
    }
    for (const [from, to, start, end, action, said] of picture.best) {
      const line = titled(svg, said);
      const colour = look.palette[action % look.palette.length];
      add(line, "line", { x1: x(from), x2: x(to), y1: y(start), y2: y(end), stroke: colour, "stroke-width": 4 });
      if (to - from > 0.12)
        add(line, "text", { x: x((from + to) / 2), y: height + 44, fill: colour, "text-anchor": "middle", "font-size": 11 }, picture.actions[action]);
    }
    for (const end of [0, 1]) add(svg, "text", { x: x(end), y: height + 26, "text-anchor": "middle", "font-size": 11 }, String(end));
    add(svg, "text", { x: x(0.5), y: height + 26, "text-anchor": "middle", "font-size": 11 }, picture.axis);
    return [left + width + 20, height + 54];
  },

  trellis(svg, picture, look) {
    const [left, high, wide] = [80, 24, Math.max(4, Math.min(24, 640 / picture.colours.length))];
    picture.names.forEach((name, state) =>
      add(svg, "text", { x: left - 6, y: state * high + 16, "text-anchor": "end", "font-size": 11 }, name));
    picture.colours.forEach((column, time) =>
      column.forEach((colour, state) => {
        const cell = titled(svg, picture.said[time][state]);
        const place = { x: left + time * wide, y: state * high };
        add(cell, "rect", { ...place, width: wide, height: high, fill: look.heat[colour][0] });
        if (picture.path[time] === state)
          add(cell, "circle", { cx: place.x + wide / 2, cy: place.y + high / 2, r: Math.min(3, wide / 2), fill: look.heat[colour][1] });
      }));
    return [left + picture.colours.length * wide + 10, picture.names.length * high + 4];
  },
};

function render({ model, el }) {
  const look = model.get("look");
  el.classList.add("rlsuite-explorer");
  const output = document.createElement("output");
  const figure = document.createElement("div");
  model.get("sliders").forEach(({ name, texts }, number) => {
    const label = el.appendChild(document.createElement("label"));
    const slider = document.createElement("input");
    const shown = document.createElement("span");
    Object.assign(slider, { type: "range", min: 0, max: texts.length - 1, value: model.get("at")[number] });
    const say = () => {
      shown.textContent = texts[slider.value];
      slider.setAttribute("aria-valuetext", texts[slider.value]);
    };
    slider.addEventListener("input", () => {
      say();
      model.set("at", model.get("at").map((place, other) => (other === number ? +slider.value : place)));
      model.save_changes();
    });
    say();
    label.append(name, slider, shown);
  });
  el.append(output, figure);
  const draw = () => {
    const picture = model.get("picture");
    output.textContent = picture.text;
    figure.innerHTML = picture.svg ?? "";
    if (!(picture.kind in drawings)) return;
    const svg = add(figure, "svg", { role: "img", "aria-label": picture.text });
    const [width, height] = drawings[picture.kind](svg, picture, look);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.maxWidth = `${Math.max(240, width)}px`;
  };
  model.on("change:picture", draw);
  draw();
}

export default { render };
