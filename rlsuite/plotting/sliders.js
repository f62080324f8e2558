// Sliders, and the picture where they stand. `model` is a widget's in a notebook; a page has one of the same methods.
function render({ model, el }) {
  el.classList.add("rlsuite-sliders");
  const add = (name, given = {}) => el.appendChild(Object.assign(document.createElement(name), given));
  const sliders = model.get("sliders").map(({ name, texts }, number) => {
    const label = add("label");
    const slider = document.createElement("input");
    const shown = document.createElement("span");
    Object.assign(slider, { type: "range", min: 0, max: texts.length - 1, value: model.get("at")[number] });
    const move = () => {
      shown.textContent = texts[slider.value];
      slider.setAttribute("aria-valuetext", texts[slider.value]);
      model.set("at", model.get("at").map((place, other) => (other === number ? +slider.value : place)));
      model.save_changes();
    };
    slider.addEventListener("input", move);
    shown.textContent = texts[slider.value];
    slider.setAttribute("aria-valuetext", texts[slider.value]);
    label.append(name, slider, shown);
    return { slider, move };
  });
  if (model.get("pause")) add("button", { textContent: "Play", onclick: play });
  const output = add("output");
  const canvas = add("canvas", { role: "img" });

  // The first slider moves by itself, to its end.
  let timer = null;
  function play({ target }) {
    const { slider, move } = sliders[0];
    const stop = () => { clearInterval(timer); timer = null; target.textContent = "Play"; };
    const go = (at) => { slider.value = at; move(); };
    if (timer) return stop();
    target.textContent = "Stop";
    if (slider.value === slider.max) go(0);
    timer = setInterval(() => { go(+slider.value + 1); if (slider.value === slider.max) stop(); }, model.get("pause"));
  }

  const draw = async () => {
    const { text, layers } = model.get("picture");
    output.textContent = text;
    canvas.setAttribute("aria-label", text);
    const images = layers.map((png) => Object.assign(new Image(), { src: `data:image/png;base64,${png}` }));
    await Promise.all(images.map((image) => image.decode()));
    if (output.textContent !== text) return; // a later picture was faster
    Object.assign(canvas, { width: images[0]?.naturalWidth ?? 0, height: images[0]?.naturalHeight ?? 0 });
    images.forEach((image) => canvas.getContext("2d").drawImage(image, 0, 0));
  };
  model.on("change:picture", draw);
  draw();
}

export default { render };
