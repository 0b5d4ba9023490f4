"use strict";

// What the page shows, as the report wrote it: all texts are in one list, and
// named by their place there.
const raw = JSON.parse(document.getElementById("data").textContent);
const outcomes = raw.outcomes;
const suites = raw.suites;
const two = suites.length > 1;

// el makes an element. Texts become text nodes, never markup: points, errors and
// findings hold whatever a plugin said.
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") e.className = value;
    else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value !== undefined) e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

const mark = (o) => el("i", { class: "mark " + o.name, title: o.title }, o.mark);
const digits = (n) => n.toLocaleString("en-US");

// Networks are unpacked when they are first shown.
const networks = raw.networks.map((n, i) => ({ name: uniqueName(n, i), place: i }));
const unpacked = [];

function uniqueName(n, i) {
  const before = raw.networks.slice(0, i).filter((m) => m.name === n.name).length;
  return before ? `${n.name} (${before + 1})` : n.name;
}

function network(i) {
  return (unpacked[i] ??= unpack(raw.networks[i], i));
}

function unpack(n, i) {
  const t = raw.texts;
  const points = n.points.map(([verb, plugin, program, text, occurrence], id) => {
    const p = { id, verb: t[verb], plugin: t[plugin], program: t[program], text: t[text], occurrence };
    p.by = p.program && p.program !== p.plugin ? `${p.plugin}/${p.program}` : p.plugin;
    p.name = `${p.verb} ${p.by} ${p.text} #${p.occurrence}`; // as --point has it
    return p;
  });
  const sides = n.sides.map((s) => s && {
    about: s.about,
    list: s.list,
    has: new Set(s.has || []),
    traces: new Map((s.traces || []).map((tr) => [t[tr.verb], tr.events || []])),
    cells: new Map(s.cells.map((c) => [c[0] * n.faults.length + c[1], unpackCell(c)])),
  });
  return { name: networks[i].name, place: i, faults: n.faults, points, sides };
}

function unpackCell([point, fault, outcome, steps, trace]) {
  return { point, fault, outcome: outcomes[outcome], steps, trace };
}

// stepsOf are a cell's steps in words.
function stepsOf(cell) {
  return cell.steps.map(([call, error, found]) => {
    const s = { call: raw.texts[call], error: error < 0 ? "" : raw.texts[error], found: [] };
    for (let i = 0; i < found.length; i += 2) s.found.push({ outcome: outcomes[found[i]], text: raw.texts[found[i + 1]] });
    return s;
  });
}

// cellsAt are the cells of a point and a fault, one a side; undefined where a
// side has none.
function cellsAt(net, point, fault) {
  return net.sides.map((s) => s?.cells.get(point * net.faults.length + fault));
}

// said is all that a cell's run said, in small letters, to look for text in.
function said(cell) {
  return (cell.said ??= stepsOf(cell).map((s) => [s.error, ...s.found.map((f) => f.text)].join("\n")).join("\n").toLowerCase());
}

// verbs are those of a network, in order, with how many bad cells each has.
function verbs(net) {
  return (net.verbs ??= countVerbs(net));
}

function countVerbs(net) {
  const all = new Map(net.points.map((p) => [p.verb, 0]));
  for (const s of net.sides) {
    for (const c of s?.cells.values() || []) {
      if (c.outcome.bad) all.set(net.points[c.point].verb, all.get(net.points[c.point].verb) + 1);
    }
  }
  return all;
}
