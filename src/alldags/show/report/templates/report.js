"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = { minimumFractionDigits: data.decimals, maximumFractionDigits: data.decimals };
  const number = (value) => value.toLocaleString("en-US", form);
  const percent = (value) => {
    if (value >= 0.995 && value < 1) return ">99%";
    return value > 0 && value < 0.005 ? "<1%" : Math.round(100 * value) + "%";
  };

  // prior odds multiply posterior odds; what the link added to the prior is held fixed, and leaves an edge uncertain
  function absentPrior(edge, stated) {
    const absent = (1 - stated) * (1 - edge.raised);
    return edge.raised > 0 && stated < 1 ? Math.max(absent, data.least) : absent;
  }
  function posteriorAt(edge, stated) {
    const before = absentPrior(edge, edge.prior), after = absentPrior(edge, stated);
    const present = edge.posterior * (1 - after) / (1 - before);
    const absent = (1 - edge.posterior) * after / before;
    return present / (present + absent);
  }
  function effectAt(edge, stated) {
    const p = posteriorAt(edge, stated);
    return p * edge.present + (1 - p) * edge.absent;
  }

  const status = document.getElementById("edge-facts");
  const slider = (i) => document.querySelector('input[data-edge="' + i + '"]');
  const place = new Map(data.edges.map((edge, i) => [JSON.stringify([edge.cause, edge.effect]), i]));

  for (const arrow of document.querySelectorAll("g.edge[tabindex]")) {
    const tell = () => { status.textContent = arrow.getAttribute("aria-label"); };
    const go = () => {
      const found = place.get(JSON.stringify([arrow.dataset.cause, arrow.dataset.effect]));
      const control = found === undefined ? null : slider(found);
      if (!control) return;
      const fold = control.closest("details");
      if (fold) fold.open = true;
      control.focus();
    };
    arrow.addEventListener("mouseenter", tell);
    arrow.addEventListener("focus", tell);
    arrow.addEventListener("click", go);
    arrow.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); }
    });
  }

  function show(control, moved) {
    const i = Number(control.dataset.edge), edge = data.edges[i];
    const stated = moved ? Number(control.value) : edge.prior;
    const mean = moved ? effectAt(edge, stated) : data.mean;
    const posterior = moved ? posteriorAt(edge, stated) : edge.posterior;
    control.nextElementSibling.textContent = percent(stated);
    document.querySelector('[data-posterior="' + i + '"]').textContent = isNaN(posterior) ? "–" : percent(posterior);
    const output = document.querySelector('[data-answer="' + i + '"]');
    output.textContent = isNaN(mean) ? "–" : number(mean);
    output.dataset.value = mean;
    control.closest("tr").classList.toggle("moved", moved);
    for (const arrow of document.querySelectorAll("g.edge")) {
      arrow.classList.toggle("chosen", moved && arrow.dataset.cause === edge.cause && arrow.dataset.effect === edge.effect);
    }
  }
  const sliders = [...document.querySelectorAll("input[data-edge]")];
  for (const control of sliders) control.addEventListener("input", () => show(control, true));
  const reset = document.getElementById("reset");
  if (reset) reset.addEventListener("click", () => {
    for (const control of sliders) { control.value = data.edges[Number(control.dataset.edge)].prior; show(control, false); }
  });

  window.addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
})();
