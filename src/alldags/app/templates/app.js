"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const state = { ...data.question, edges: new Map(data.question.edges.map(([a, b, p]) => [key(a, b), p])),
    pairs: new Map((data.question.pairs || []).map(([a, b, f, r]) => [key(a, b), [f, r]])) };
  const find = (id) => document.getElementById(id);
  const QUIET = 100; // milliseconds without a change before the graph is drawn anew
  let asked = 0, timer = 0, since = 0, focus = null, busy = false, again = false, opened = false;

  function key(cause, effect) { return JSON.stringify([cause, effect]); }
  const percent = (value) => Math.round(100 * value) + "%";
  const tierOf = (name) => state.tiers.findIndex((tier) => tier.includes(name));
  const used = () => state.tiers.flat();
  const isForward = (cause, effect) => tierOf(cause) >= 0 && tierOf(cause) < tierOf(effect);
  const isBeside = (a, b) => a !== b && tierOf(a) >= 0 && tierOf(a) === tierOf(b);
  const pairOf = (a, b) => [key(a, b), key(b, a)].find((pair) => state.pairs.has(pair));
  const probabilityOf = (cause, effect) => {
    const open = pairOf(cause, effect);
    if (open !== undefined) return state.pairs.get(open)[0] + state.pairs.get(open)[1];
    if (isBeside(cause, effect)) return 0;
    const own = state.edges.get(key(cause, effect));
    return own === undefined ? state.probability : own;
  };

  function question() {
    const edges = [...state.edges].map(([pair, p]) => [...JSON.parse(pair), p]).filter(([a, b]) => isForward(a, b));
    const pairs = [...state.pairs].map(([pair, both]) => [...JSON.parse(pair), ...both]).filter(([a, b]) => used().includes(a) && used().includes(b));
    return { tiers: state.tiers.filter((tier) => tier.length), probability: state.probability, edges, pairs,
      treatment: state.treatment, outcome: state.outcome };
  }

  // -- asking

  function changed() {
    draw();
    soon();
  }

  // one question at a time: while one is being answered, only the latest change waits
  function soon() {
    clearTimeout(timer);
    since = since || performance.now();
    if (busy) again = true;
    else timer = setTimeout(ask, 15);
  }

  async function send(path) {
    const reply = await fetch(path, { method: "POST", body: JSON.stringify(question()),
      headers: { "Content-Type": "application/json" } });
    if (!reply.ok) throw new Error("the server said " + reply.status);
    return reply.json();
  }

  async function ask() {
    asked += 1;
    busy = true;
    again = false;
    find("working").textContent = state.pairs.size && !opened ? "Computing … (the first open direction on a computer takes half a minute)" : "Computing …";
    find("answer").classList.add("stale");
    const start = since || performance.now();
    since = 0;
    let reply;
    try { reply = await send("answer"); } catch (problem) { reply = { error: "No answer: " + problem.message + ". Is it still running?" }; }
    busy = false;
    if (again) soon();
    else find("answer").classList.remove("stale");
    find("error").hidden = !reply.error;
    find("error").textContent = reply.error || "";
    if (reply.error) { find("working").textContent = ""; return; }
    opened = opened || state.pairs.size > 0;
    show(reply);
    find("answer").dataset.milliseconds = performance.now() - start;
    find("working").textContent = "Answered in " + Math.round(performance.now() - start) + " ms.";
    find("answer").dataset.answered = asked;
    if (!again) timer = setTimeout(drawGraph, QUIET, asked);
  }

  // the drawn graph comes a moment after the words, unless another change is made
  async function drawGraph(number) {
    busy = true;
    let reply;
    try { reply = await send("drawing"); } catch (problem) { reply = { error: problem.message }; }
    busy = false;
    if (again) soon();
    else if (!reply.error) { showGraph(reply); find("answer").dataset.drawn = number; }
  }

  function show(reply) {
    find("sentence").textContent = reply.sentence;
    picture("effect-picture", reply.effect);
    find("rows").replaceChildren(...reply.rows.map(([name, value]) => {
      const row = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td");
      head.scope = "row"; head.textContent = name.trim(); cell.textContent = value;
      if (name.startsWith(" ")) head.className = "part";
      row.append(head, cell);
      return row;
    }));
    find("remarks").replaceChildren(...[...reply.remarks, ...reply.notes.map((note) => "Note: " + note)].map((text) => {
      const made = document.createElement("p");
      made.textContent = text;
      return made;
    }));
  }

  function showGraph(reply) {
    picture("graph-picture", reply.graph);
    find("folded").textContent = reply.folded ? reply.folded + " more edges, on which the effect rests least, are not drawn." : "";
    for (const arrow of document.querySelectorAll("g.edge[tabindex]")) {
      const tell = () => { find("edge-facts").textContent = arrow.getAttribute("aria-label"); };
      const choose = () => { chooseEdge(arrow.dataset.cause, arrow.dataset.effect); tell(); find("edge-probability").focus(); };
      arrow.addEventListener("mouseenter", tell);
      arrow.addEventListener("focus", tell);
      arrow.addEventListener("click", choose);
      arrow.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
      });
    }
  }

  function picture(id, text) {
    const svg = new DOMParser().parseFromString(text, "text/html").querySelector("svg");
    find(id).replaceChildren(document.importNode(svg, true));
  }

  // -- tiers

  function move(name, to) {
    for (const tier of state.tiers) { const i = tier.indexOf(name); if (i >= 0) tier.splice(i, 1); }
    state.unused = state.unused.filter((other) => other !== name);
    if (to < 0) state.unused.push(name);
    else { while (state.tiers.length <= to) state.tiers.push([]); state.tiers[to].push(name); }
    focus = name;
    changed();
  }

  function step(name, by) {
    const at = tierOf(name);
    if (by > 0) move(name, at + 1);
    else if (at > 0) move(name, at - 1);
    else if (at === 0 && state.tiers[0].length > 1) { state.tiers.unshift([]); move(name, 0); }
    else if (at === 0) move(name, -1);
  }

  function chip(name) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = name;
    made.draggable = true;
    made.dataset.name = name;
    made.className = name === state.treatment ? "treatment" : name === state.outcome ? "outcome" : "";
    const at = tierOf(name);
    made.setAttribute("aria-label", name + ", " + (at < 0 ? "left out" : "column " + (at + 1) + " of " + state.tiers.length) + "; arrow keys move it");
    made.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", name));
    made.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Delete: 0 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      if (by) step(name, by); else move(name, -1);
    });
    return made;
  }

  function column(title, names, at) {
    const made = document.createElement("div"), head = document.createElement("h3");
    made.className = at < 0 ? "tier unused" : "tier";
    made.dataset.tier = at;
    head.textContent = title;
    made.append(head, ...names.map(chip));
    made.addEventListener("dragover", (event) => { event.preventDefault(); made.classList.add("over"); });
    made.addEventListener("dragleave", () => made.classList.remove("over"));
    made.addEventListener("drop", (event) => {
      event.preventDefault();
      const name = event.dataTransfer.getData("text/plain");
      if (data.columns.includes(name)) move(name, at);
    });
    return made;
  }

  // -- drawing the controls

  function options(id, names, chosen) {
    const select = find(id);
    select.replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)));
  }

  function draw() {
    state.tiers = state.tiers.filter((tier, i) => tier.length || i === state.tiers.length - 1 || tier.kept);
    for (const [role, other] of [["treatment", "outcome"], ["outcome", "treatment"]]) {
      if (!used().includes(state[role])) state[role] = used().find((name) => name !== state[other]);
    }
    const columns = state.tiers.map((tier, i) => column("column " + (i + 1), tier, i));
    find("tiers").replaceChildren(...columns, column("left out", state.unused, -1));
    if (focus !== null) {
      const chosen = [...document.querySelectorAll("#tiers button")].find((made) => made.dataset.name === focus);
      if (chosen) chosen.focus();
      focus = null;
    }
    options("treatment", used(), state.treatment);
    options("outcome", used(), state.outcome);
    find("probability").value = state.probability;
    find("probability-value").textContent = percent(state.probability);
    drawEdge();
  }

  function drawEdge() {
    const joins = (name, other) => isForward(name, other) || isBeside(name, other);
    const causes = used().filter((name) => used().some((other) => joins(name, other)));
    if (!causes.includes(state.cause)) state.cause = causes.includes(state.treatment) ? state.treatment : causes[0];
    const effects = used().filter((name) => joins(state.cause, name));
    if (!effects.includes(state.effect)) state.effect = effects.includes(state.outcome) ? state.outcome : effects[0];
    options("cause", causes, state.cause);
    options("effect", effects, state.effect);
    const none = state.effect === undefined;
    for (const id of ["cause", "effect", "edge-probability", "edge-out", "edge-certain", "edge-usual", "edge-open"]) find(id).disabled = none;
    const beside = !none && isBeside(state.cause, state.effect), open = !none && pairOf(state.cause, state.effect) !== undefined;
    find("edge-open").checked = beside || open;
    if (beside) find("edge-open").disabled = true;
    if (beside || open) find("edge-certain").disabled = true;
    const p = none ? state.probability : probabilityOf(state.cause, state.effect);
    find("edge-probability").value = p;
    find("edge-value").textContent = percent(p);
  }

  function chooseEdge(cause, effect) {
    const swap = !isForward(cause, effect) && !isBeside(cause, effect);
    state.cause = swap ? effect : cause;
    state.effect = swap ? cause : effect;
    drawEdge();
  }

  // both directions: each keeps its share of the whole, half at first
  function setPair(p) {
    const known = pairOf(state.cause, state.effect), pair = known || key(state.cause, state.effect);
    if (!p) { state.pairs.delete(pair); return; }
    const [f, r] = known && probabilityOf(state.cause, state.effect) ? state.pairs.get(known) : [0.5, 0.5];
    const whole = Math.min(p, 0.99);
    state.pairs.set(pair, [whole * f / (f + r), whole * r / (f + r)]);
  }

  function openEdge(open) {
    const p = probabilityOf(state.cause, state.effect);
    if (open) setPair(p || state.probability); else state.pairs.delete(pairOf(state.cause, state.effect));
    drawEdge();
    soon();
  }

  function setEdge(p) {
    if (state.effect === undefined) return;
    if (isBeside(state.cause, state.effect) || pairOf(state.cause, state.effect) !== undefined) setPair(p);
    else if (p === null) state.edges.delete(key(state.cause, state.effect));
    else state.edges.set(key(state.cause, state.effect), p);
    drawEdge();
    soon();
  }

  for (const id of ["treatment", "outcome"]) find(id).addEventListener("change", (event) => { state[id] = event.target.value; changed(); });
  for (const id of ["cause", "effect"]) find(id).addEventListener("change", (event) => { state[id] = event.target.value; drawEdge(); });
  find("probability").addEventListener("input", (event) => {
    state.probability = Number(event.target.value);
    find("probability-value").textContent = percent(state.probability);
    drawEdge();
    soon();
  });
  find("edge-probability").addEventListener("input", (event) => setEdge(Number(event.target.value)));
  find("edge-open").addEventListener("change", (event) => openEdge(event.target.checked));
  find("edge-out").addEventListener("click", () => setEdge(0));
  find("edge-certain").addEventListener("click", () => setEdge(1));
  find("edge-usual").addEventListener("click", () => setEdge(null));
  find("add-tier").addEventListener("click", () => { const fresh = []; fresh.kept = true; state.tiers.push(fresh); draw(); });

  // -- keeping

  for (const button of document.querySelectorAll("button[data-export]")) {
    button.addEventListener("click", async () => {
      let reply;
      try { reply = await send("export/" + button.dataset.export); } catch (problem) { reply = { error: problem.message }; }
      if (reply.error) { find("kept").textContent = reply.error; return; }
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([reply.text], { type: "text/plain" }));
      link.download = reply.name;
      link.click();
      URL.revokeObjectURL(link.href);
      find("kept").textContent = "Written: " + reply.name;
    });
  }

  draw();
  ask();
})();
