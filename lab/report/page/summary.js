"use strict";

// The summary: what the runs of each network, plugin and verb came to, a line
// for each suite. Numbers lead to the cells that they count.

function buildSummary() {
  const titles = ["points", "runs"];
  const head = el("tr", {}, ...["network", "plugin", "verb", ...(two ? ["suite"] : [])].map((s) => el("th", { class: "name", scope: "col" }, s)),
    ...titles.map((s) => el("th", { scope: "col" }, s)),
    ...outcomes.map((o) => el("th", { scope: "col", title: o.words }, mark(o), o.title)));
  const body = el("tbody");
  const totals = suites.map(() => ({ points: 0, runs: 0, counts: {} }));
  for (const { place } of networks) {
    const net = network(place);
    let first = true, last = "";
    for (const row of summaryRows(net)) {
      row.sides.forEach((side, i) => {
        if (!side) return;
        add(totals[i], side);
        body.append(summaryLine(net, row, side, i, first, row.plugin !== last));
        first = false;
        last = row.plugin;
      });
    }
  }
  totals.forEach((t, i) => body.append(el("tr", { class: "total" }, el("td", { class: "name" }, i ? "" : "all"), el("td"), el("td"),
    two ? el("td", { class: "name" }, suites[i]) : null, ...numbers(t, null))));
  return el("table", { class: "summary" }, el("thead", {}, head), body);
}

function add(total, side) {
  total.points += side.points;
  total.runs += side.runs;
  for (const [name, n] of Object.entries(side.counts)) total.counts[name] = (total.counts[name] || 0) + n;
}

// summaryRows are the rows of a network, plugins as they come, and their verbs.
function summaryRows(net) {
  const rows = new Map();
  const at = (p) => `${p.plugin}\n${p.verb}`;
  for (const p of net.points) {
    if (!rows.has(at(p))) rows.set(at(p), { plugin: p.plugin, verb: p.verb, sides: net.sides.map(() => null) });
    net.sides.forEach((s, i) => {
      if (!s?.has.has(p.id)) return;
      (rows.get(at(p)).sides[i] ??= { points: 0, runs: 0, counts: {} }).points++;
    });
  }
  net.sides.forEach((s, i) => {
    for (const c of s?.cells.values() || []) {
      const side = rows.get(at(net.points[c.point])).sides[i];
      side.runs++;
      side.counts[c.outcome.name] = (side.counts[c.outcome.name] || 0) + 1;
    }
  });
  const order = [...new Set(net.points.map((p) => p.plugin))];
  return [...rows.values()].sort((a, b) => order.indexOf(a.plugin) - order.indexOf(b.plugin));
}

function summaryLine(net, row, side, i, first, plugin) {
  const to = { net: net.name, verb: row.verb, plugin: row.plugin };
  const lead = i === 0 || !row.sides[0];
  return el("tr", { class: first ? "first" : "" },
    el("td", { class: "name" }, first ? el("a", { href: hashOf({ net: net.name }) }, net.name) : ""),
    el("td", { class: "name" }, plugin ? el("a", { href: hashOf({ ...to, verb: "" }) }, row.plugin) : ""),
    el("td", { class: "name" }, lead ? el("a", { href: hashOf(to) }, row.verb) : ""),
    two ? el("td", { class: "name" }, suites[i]) : null,
    ...numbers(side, to));
}

// numbers are the cells of a line that count; to is where they lead.
function numbers(side, to) {
  const plain = [side.points, side.runs].map((n) => el("td", {}, digits(n)));
  return plain.concat(outcomes.map((o) => {
    const n = side.counts[o.name] || 0;
    if (!n) return el("td", { class: "zero" }, "0");
    if (!to) return el("td", {}, digits(n));
    return el("td", {}, el("a", { class: "some " + o.name, href: hashOf({ ...to, show: [o.name] }) }, digits(n)));
  }));
}
