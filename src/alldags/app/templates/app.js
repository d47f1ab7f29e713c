(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const state = { family: "", start: "", stop: "", left: [], rows: [], ...data.question,
    edges: new Map(data.question.edges.map(([a, b, p]) => [key(a, b), p])),
    pairs: new Map(data.question.pairs.map(([a, b, f, r]) => [key(a, b), [f, r]])) };
  const find = (id) => document.getElementById(id);
  const QUIET = 120; // milliseconds without a change before a question is asked, or the graph drawn
  let asked = 0, timer = 0, since = 0, clock = 0, running = new AbortController(), focus = null, follow = false, drawn = "";

  function key(cause, effect) { return JSON.stringify([cause, effect]); }
  const percent = (value) => Math.round(100 * value) + "%";
  const tierOf = (name) => state.tiers.findIndex((tier) => tier.includes(name));
  const used = () => state.tiers.flat();
  const unused = () => data.columns.filter((name) => tierOf(name) < 0);
  const isForward = (cause, effect) => tierOf(cause) >= 0 && tierOf(cause) < tierOf(effect);
  const isBeside = (a, b) => a !== b && tierOf(a) >= 0 && tierOf(a) === tierOf(b);
  const pairOf = (a, b) => [key(a, b), key(b, a)].find((pair) => state.pairs.has(pair));
  const isAsked = (cause, effect) => cause === state.treatment && effect === state.outcome && typeof state.direct === "number";
  const probabilityOf = (cause, effect) => {
    const open = pairOf(cause, effect);
    if (open !== undefined) return state.pairs.get(open)[0] + state.pairs.get(open)[1];
    if (isBeside(cause, effect)) return 0;
    const own = state.edges.get(key(cause, effect));
    if (own !== undefined) return own;
    return isAsked(cause, effect) ? state.direct : state.probability;
  };

  function question() {
    const edges = [...state.edges].map(([pair, p]) => [...JSON.parse(pair), p]).filter(([a, b]) => isForward(a, b));
    const pairs = [...state.pairs].map(([pair, both]) => [...JSON.parse(pair), ...both]).filter(([a, b]) => used().includes(a) && used().includes(b));
    return { tiers: state.tiers.filter((tier) => tier.length), probability: state.probability, direct: state.direct, edges, pairs,
      treatment: state.treatment, outcome: state.outcome, family: state.family || null,
      contrast: state.start ? [state.start, state.stop] : null, left: state.left, rows: state.rows, missing: state.missing,
      categories: state.categories };
  }

  // names may break after an underscore
  function put(element, text) {
    element.replaceChildren(...text.split(/(?<=_)/).flatMap((part, i) => i ? [document.createElement("wbr"), part] : [part]));
    return element;
  }
  const make = (kind, text) => put(document.createElement(kind), text);

  // -- asking

  function changed() {
    draw();
    soon();
  }

  // what was asked before is overtaken: its answer is not waited for
  function soon() {
    clearTimeout(timer);
    since = since || performance.now();
    timer = setTimeout(ask, QUIET);
  }

  async function send(path, signal) {
    const reply = await fetch(path, { method: "POST", body: JSON.stringify(question()), signal,
      headers: { "Content-Type": "application/json" } });
    if (!reply.ok) throw new Error("the server said " + reply.status);
    return reply.json();
  }

  function working(text) {
    find("working").textContent = text;
    find("seconds").textContent = "";
    clearInterval(clock);
  }

  function compute(start) {
    working("Computing …");
    find("brief").firstChild.textContent = "Computing …";
    find("result").classList.add("stale");
    find("answer").setAttribute("aria-busy", "true");
    clock = setInterval(() => {
      const seconds = Math.round((performance.now() - start) / 1000);
      find("seconds").textContent = seconds + " s" + (seconds > 5 ? "; first answers, gaps and many columns take longer" : "");
    }, 1000);
  }

  async function ask() {
    const number = asked += 1, start = since || performance.now();
    running.abort();
    if (!state.treatment || !state.outcome) { instead("Choose a treatment and an outcome."); return; }
    running = new AbortController();
    compute(start);
    let reply;
    try { reply = await send("answer", running.signal); } catch (problem) { reply = { error: "No answer: " + problem.message + ". Is it still running?" }; }
    if (number !== asked) return;
    if (reply.overtaken) { soon(); return; } // by another window
    since = 0;
    showAsks(reply.asks || []);
    if (reply.asks) instead("The answer waits for what is asked under “Before the answer”.", "#asks-title");
    else if (reply.error) instead("", "#answer-title", reply.error);
    else {
      show(reply);
      find("answer").dataset.milliseconds = performance.now() - start;
      working("Answered in " + ((performance.now() - start) / 1000).toFixed(1) + " s.");
      timer = setTimeout(drawGraph, QUIET, number);
    }
    find("answer").dataset.answered = number;
    if (follow) lead(document.querySelector("#asks:not([hidden]) button") || find("answer-title"));
    follow = false;
  }

  // to what comes next, for whoever answered a question of the page
  function lead(to) {
    to.focus({ preventScroll: true });
    (to.closest(".ask") || to).scrollIntoView({ block: matchMedia("(max-width: 61.99rem)").matches ? "start" : "nearest" });
  }

  // no answer: an older one must not stay
  function instead(text, href, error) {
    working(text);
    find("result").hidden = true;
    find("error").hidden = !error;
    put(find("error"), error || "");
    settle(error ? "No answer: see why" : text, href);
  }

  function settle(text, href) {
    find("answer").setAttribute("aria-busy", "false");
    find("brief").hidden = !href;
    put(find("brief").firstChild, text).setAttribute("href", href || "#answer-title");
  }

  // the drawn graph comes a moment after the words, unless another change is made
  async function drawGraph(number) {
    let reply;
    try { reply = await send("drawing", running.signal); } catch (problem) { return; }
    if (number !== asked || reply.error || reply.overtaken) return;
    showGraph(reply);
    find("answer").dataset.drawn = number;
    findOutNext();
  }

  // -- what is asked before an answer

  function showAsks(list) {
    find("asks").hidden = !list.length;
    find("ask-list").replaceChildren(...list.map((one) => {
      const made = document.createElement("div"), items = document.createElement("ul"), buttons = document.createElement("p");
      made.className = "ask";
      buttons.className = "buttons";
      items.tabIndex = 0; // it may have to be scrolled
      items.append(...(one.items || []).map((text) => make("li", text)));
      buttons.append(...one.choices.map(([label, does]) => {
        const button = make("button", label);
        button.type = "button";
        button.addEventListener("click", () => { follow = true; made.remove(); agree(does); });
        return button;
      }));
      made.append(make("p", one.text), ...(one.items ? [items] : []), buttons);
      return made;
    }));
  }

  function agree(does) {
    if (does.before) {
      if (tierOf(state.treatment) === 0) state.tiers.unshift([]);
      state.tiers[0].push(...does.before);
    }
    find("asks").hidden = !find("ask-list").children.length;
    state.left.push(...(does.left || []));
    state.rows.push(...(does.rows || []));
    state.missing = does.missing || state.missing;
    changed();
  }

  // -- the answer

  function row([name, value]) {
    const made = document.createElement("tr"), head = make("th", name.trim());
    head.scope = "row";
    if (name.startsWith(" ")) head.className = "part";
    made.append(head, make("td", value));
    return made;
  }

  function show(reply) {
    find("error").hidden = true;
    find("result").hidden = false;
    find("result").classList.remove("stale");
    put(find("sentence"), reply.sentence);
    find("warnings").replaceChildren(...reply.warnings.slice(0, 3).map((text) => {
      const made = make("p", " " + text + "."), mark = make("strong", "!");
      made.className = "warning";
      made.prepend(mark);
      return made;
    }));
    find("rows").replaceChildren(...reply.rows.map(row));
    find("under").replaceChildren(...reply.under.map((text) => make("p", text)));
    picture("effect-picture", reply.effect);
    find("numbers").replaceChildren(...reply.numbers.map(row));
    find("remarks").replaceChildren(...[...reply.remarks, ...reply.notes.map((note) => "Note: " + note + ".")].map((text) => make("p", text)));
    find("python").textContent = reply.python;
    const about = JSON.stringify([state.tiers, state.treatment, state.outcome]);
    if (about !== drawn) { picture("graph-picture", ""); find("folded").textContent = "Drawing …"; }
    drawn = about;
    find("graph-picture").classList.add("stale");
    settle(reply.rows.length ? reply.rows[0].join(" ") : reply.sentence, "#answer-title");
  }

  function showGraph(reply) {
    picture("graph-picture", reply.graph);
    find("graph-picture").classList.remove("stale");
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

  // what to find out next takes a moment, and is computed for whoever opens it
  async function findOutNext() {
    const number = asked, said = (...texts) => find("next-said").replaceChildren(...texts.map((text) => make("p", text)));
    if (!find("next").open || find("next").dataset.about === String(number)) return;
    find("next").dataset.about = number;
    find("next-steps").hidden = true;
    said("Computing …");
    let reply;
    try { reply = await send("next", running.signal); } catch (problem) { reply = { error: "No answer: " + problem.message }; }
    if (number !== asked) return;
    if (reply.overtaken) { find("next").dataset.about = ""; return; }
    said(...(reply.error ? [reply.error] : reply.paragraphs));
    const cells = (kind, texts) => { const made = document.createElement("tr"); made.append(...texts.map((text) => make(kind, text))); return made; };
    find("next-steps").hidden = !reply.steps;
    find("next-steps").tHead.replaceChildren(...(reply.heads ? [cells("th", reply.heads)] : []));
    find("next-steps").tBodies[0].replaceChildren(...(reply.steps || []).map((texts) => cells("td", texts)));
  }

  function picture(id, text) {
    const svg = new DOMParser().parseFromString(text || "", "text/html").querySelector("svg");
    find(id).replaceChildren(...(svg ? [document.importNode(svg, true)] : []));
  }

  // -- columns

  function take(name) {
    for (const tier of state.tiers) { const i = tier.indexOf(name); if (i >= 0) tier.splice(i, 1); }
    state.left = state.left.filter((other) => other !== name);
  }

  function move(name, to) {
    take(name);
    if (to < 0) state.left.push(name);
    else { while (state.tiers.length <= to) state.tiers.push([]); state.tiers[to].push(name); }
    changed();
  }

  function step(name, by) {
    const at = tierOf(name);
    if (at < 0 && by > 0) { // before the treatment
      if (tierOf(state.treatment) === 0) state.tiers.unshift([]);
      move(name, 0);
    } else if (by > 0) move(name, at + 1);
    else if (at > 0) move(name, at - 1);
    else if (at === 0 && state.tiers[0].length > 1) { state.tiers.unshift([]); move(name, 0); }
    else if (at === 0) move(name, -1);
  }

  // a new treatment or outcome that has no place yet takes that of the old one, or one of its own
  function choose(role, name) {
    const old = state[role], at = tierOf(name) < 0 ? tierOf(old) : -1;
    state[role] = name || null;
    if (name && tierOf(name) < 0) {
      take(name);
      if (at >= 0) state.tiers[at].splice(state.tiers[at].indexOf(old), 1, name);
      else if (role === "treatment" && tierOf(state.outcome) >= 0) state.tiers.splice(tierOf(state.outcome), 0, [name]);
      else state.tiers.push([name]);
    }
    if (role === "treatment") state.start = state.stop = ""; else state.family = "";
    changed();
  }

  function chip(name) {
    const made = make("button", name);
    made.type = "button";
    made.draggable = true;
    made.dataset.name = name;
    made.className = name === state.treatment ? "treatment" : name === state.outcome ? "outcome" : "";
    const at = tierOf(name);
    made.setAttribute("aria-label", name + ", " + (at < 0 ? "left out" : "column " + (at + 1) + " of " + state.tiers.length) + "; arrow keys move it");
    made.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", name));
    made.addEventListener("focus", () => { state.chosen = name; drawMover(); });
    made.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Delete: 0 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      focus = name;
      if (by) step(name, by); else move(name, -1);
    });
    return made;
  }

  // for fingers, which neither drag nor have arrow keys
  function drawMover() {
    const at = tierOf(state.chosen);
    find("mover").hidden = !state.chosen;
    put(find("chosen"), state.chosen ? state.chosen + ":" : "");
    for (const button of document.querySelectorAll("button[data-by]")) button.disabled = at < 0 && button.dataset.by !== "1";
  }

  function column(title, names, at) {
    const made = document.createElement("div");
    made.className = at < 0 ? "tier unused" : "tier";
    made.dataset.tier = at;
    made.append(make("h3", title), ...names.map(chip));
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

  function options(id, names, chosen, none) {
    const made = names.map((name) => new Option(name, name, false, name === chosen));
    find(id).replaceChildren(...(none === undefined ? [] : [new Option(none, "", false, !chosen)]), ...made);
  }

  function draw() {
    state.tiers = state.tiers.filter((tier, i) => tier.length || i === state.tiers.length - 1 || tier.kept);
    for (const role of ["treatment", "outcome"]) {
      if (!used().includes(state[role])) state[role] = null;
      options(role, data.columns, state[role], "choose …");
    }
    const columns = state.tiers.map((tier, i) => column("column " + (i + 1), tier, i));
    find("tiers").replaceChildren(...columns, column("left out", unused(), -1));
    if (focus !== null) {
      const chosen = [...document.querySelectorAll("#tiers button")].find((made) => made.dataset.name === focus);
      if (chosen) chosen.focus();
      focus = null;
    }
    const levels = data.levels[state.treatment] || [];
    find("levels").hidden = !levels.length;
    options("start", levels, state.start, "every level");
    options("stop", levels, state.stop);
    find("stop").disabled = !state.start;
    find("family").value = state.family;
    find("probability").value = state.probability;
    find("probability-value").textContent = percent(state.probability);
    drawMover();
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

  for (const id of ["treatment", "outcome"]) find(id).addEventListener("change", (event) => choose(id, event.target.value));
  for (const id of ["cause", "effect"]) find(id).addEventListener("change", (event) => { state[id] = event.target.value; drawEdge(); });
  find("start").addEventListener("change", (event) => {
    const levels = data.levels[state.treatment];
    state.start = event.target.value;
    state.stop = state.stop && state.stop !== state.start ? state.stop : levels.find((level) => level !== state.start);
    changed();
  });
  find("stop").addEventListener("change", (event) => { state.stop = event.target.value; changed(); });
  find("family").addEventListener("change", (event) => { state.family = event.target.value; changed(); });
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
  for (const button of document.querySelectorAll("button[data-by]")) {
    button.addEventListener("click", () => { if (button.dataset.by === "0") move(state.chosen, -1); else step(state.chosen, Number(button.dataset.by)); });
  }
  find("next").addEventListener("toggle", findOutNext);
  find("add-tier").addEventListener("click", () => { const fresh = []; fresh.kept = true; state.tiers.push(fresh); draw(); });

  // -- keeping

  for (const button of document.querySelectorAll("button[data-export]")) {
    button.addEventListener("click", async () => {
      find("kept").textContent = "Writing …";
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
