"use strict";

// What is shown is told by the address after #, so that it can be linked to:
// net, verb, plugin, show (outcomes), find, differ, point and fault.
let state = null;
let built = null; // the network and verb of the matrix that is there

function readHash() {
  const q = new URLSearchParams(location.hash.slice(1));
  const get = (name) => q.get(name) || "";
  return {
    net: get("net"), summary: q.has("summary"), verb: get("verb"), plugin: get("plugin"), find: get("find"),
    show: get("show").split(",").filter((s) => outcomes.some((o) => o.name === s)),
    differ: two && q.has("differ"), about: q.has("about"), point: get("point"), fault: get("fault"),
  };
}

function hashOf(s) {
  const q = new URLSearchParams();
  for (const name of ["net", "verb", "plugin", "find", "point", "fault"]) if (s[name]) q.set(name, s[name]);
  for (const name of ["summary", "differ", "about"]) if (s[name]) q.set(name, "1");
  if (s.show?.length) q.set("show", s.show.join(","));
  return "#" + q;
}

// change goes to another state, and keeps the address in step.
function change(changes) {
  state = { ...state, ...changes };
  history.replaceState(null, "", hashOf(state));
  show();
}

// current is the network that is shown; null for the summary.
function current() {
  if (state.summary || !networks.length) return null;
  const n = networks.find((n) => n.name === state.net) || (networks.length === 1 ? networks[0] : null);
  return n && network(n.place);
}

function show() {
  const net = current();
  const view = document.getElementById("view");
  if (!net) {
    matrix = built = null;
    document.getElementById("panel").hidden = true;
    fillBar(null);
    view.replaceChildren(networks.length ? buildSummary() : el("p", { class: "empty" }, "There are no results."));
    view.scrollTo(0, 0);
    return;
  }
  const key = `${net.place} ${state.verb}`;
  if (key !== built) {
    built = key;
    view.replaceChildren(buildMatrix(net, state.verb));
    view.scrollTo(0, 0);
    fitMatrix();
  }
  const left = filterMatrix(state);
  fillBar(net);
  document.getElementById("status").textContent =
    `${digits(left.cells)} runs at ${left.points === left.all ? "" : digits(left.points) + " of "}${digits(left.all)} points`;
  matrix.table.hidden = left.points === 0;
  view.querySelector(".empty")?.remove();
  if (!left.points) view.append(el("p", { class: "empty" }, "Nothing is like that."));
  showChosen();
}

// showChosen opens the panel for the cell of the state, or closes it.
function showChosen() {
  const r = matrix.rows.findIndex((row) => row.point.name === state.point);
  const c = matrix.columns.findIndex((col) => col.name === state.fault);
  const panel = document.getElementById("panel");
  if (state.about || r < 0 || c < 0 || !matrix.rows[r].cells[c]) {
    highlight(null);
    panel.hidden = true;
    if (state.about) fillAbout(matrix.net);
    return;
  }
  const same = matrix.chosen && matrix.chosen.r === r && matrix.chosen.c === c && !panel.hidden;
  highlight({ r, c });
  if (same) return;
  fillPanel({ r, c });
  if (matrix.rows[r].shown) {
    place({ r, c });
    reveal(cellAt({ r, c }).td);
  }
}

function choose(r, c) {
  change({ point: matrix.rows[r].point.name, fault: matrix.columns[c].name, about: false });
  cellAt({ r, c }).td.focus({ preventScroll: true });
}

function closePanel() {
  const was = matrix?.chosen;
  if (!was && !state.about) return;
  change({ point: "", fault: "", about: false });
  if (was) cellAt(was).td.focus({ preventScroll: true });
}

// step goes to the next bad cell and tells of it.
function step(by) {
  const at = matrix && nextBad(by);
  if (at) choose(at.r, at.c);
}

// fillBar writes the controls anew when they are of another network, else only
// their state.
let bar = null;
function fillBar(net) {
  if (!bar || bar.net !== net) {
    bar = { net, ...makeBar(net) };
    document.getElementById("bar").replaceChildren(...bar.parts);
  }
  bar.update();
}

function makeBar(net) {
  const updates = [];
  const pick = el("select", { "aria-label": "network", onchange: () => pickNetwork(pick.value) },
    el("option", { value: "" }, "Summary"), ...networks.map((n) => el("option", { value: "net " + n.name }, n.name)));
  pick.value = net ? "net " + net.name : "";
  const parts = [pick];
  if (net) {
    parts.push(verbButtons(net, updates), ...pluginPick(net, updates), outcomeButtons(updates), findField(updates));
    if (two) parts.push(differBox(updates));
    const about = el("button", { title: "configuration, notes (i)", onclick: toggleAbout }, "About");
    updates.push(() => about.setAttribute("aria-pressed", String(state.about)));
    parts.push(about);
  }
  return { parts, update: () => updates.forEach((u) => u()) };
}

function pickNetwork(value) {
  const net = value.slice(4);
  change({ net: networks.length > 1 ? net : "", summary: value === "", verb: "", plugin: "", point: "", fault: "", about: false });
}

// toggles are buttons of which some are pressed.
function toggles(label, items, pressed, press, updates) {
  const buttons = items.map(([value, ...content]) => {
    const b = el("button", { onclick: () => press(value) }, ...content);
    updates.push(() => b.setAttribute("aria-pressed", String(pressed(value))));
    return b;
  });
  return el("div", { class: "group", role: "group", "aria-label": label }, ...buttons);
}

function verbButtons(net, updates) {
  const items = [["", "All verbs"]];
  for (const [verb, bad] of verbs(net)) items.push([verb, verb, bad ? el("span", { class: "bad", title: `${bad} bad runs` }, digits(bad)) : null]);
  return toggles("verb", items, (v) => state.verb === v, (v) => change({ verb: v }), updates);
}

function pluginPick(net, updates) {
  const plugins = [...new Set(net.points.map((p) => p.plugin))];
  if (plugins.length < 2) return [];
  const pick = el("select", { "aria-label": "plugin", onchange: () => change({ plugin: pick.value }) },
    el("option", { value: "" }, "All plugins"), ...plugins.map((p) => el("option", {}, p)));
  updates.push(() => (pick.value = state.plugin));
  return [pick];
}

function outcomeButtons(updates) {
  return toggles("only these outcomes", outcomes.map((o) => [o.name, mark(o), o.name]), (name) => state.show.includes(name),
    (name) => change({ show: state.show.includes(name) ? state.show.filter((s) => s !== name) : [...state.show, name] }), updates);
}

function findField(updates) {
  const find = el("input", { type: "search", id: "find", placeholder: "Find in points and findings", "aria-label": "find text", oninput: () => change({ find: find.value }) });
  updates.push(() => {
    if (find.value !== state.find) find.value = state.find;
  });
  return find;
}

function differBox(updates) {
  const box = el("input", { type: "checkbox", onchange: () => change({ differ: box.checked }) });
  updates.push(() => (box.checked = state.differ));
  return el("label", {}, box, "differences only");
}

function toggleAbout() {
  if (current()) change({ about: !state.about, point: "", fault: "" });
}

function help() {
  document.getElementById("help").showModal();
}

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.getElementById("help").open) return;
  if (e.target.closest("input, select")) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  const act = {
    Escape: closePanel, n: () => step(1), p: () => step(-1), s: () => change({ summary: true, point: "", fault: "", about: false }),
    "/": () => document.getElementById("find")?.focus(), "?": help, i: toggleAbout,
  }[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});

function start() {
  state = readHash();
  show();
}
document.getElementById("ask").addEventListener("click", help);
window.addEventListener("hashchange", start);
// The panel opens, or the window becomes another: the matrix has other room.
new ResizeObserver(() => {
  fitMatrix();
  if (matrix?.chosen && matrix.rows[matrix.chosen.r].shown) reveal(cellAt(matrix.chosen).td);
}).observe(document.getElementById("view"));
start();
