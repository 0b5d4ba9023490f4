"use strict";

// The panel tells of one cell: the fault, what each call answered, what was found
// after it, and the calls around the point.

const around = 8; // calls of a trace before and after the point

function fillPanel(at) {
  const { net, columns, rows } = matrix;
  const { point } = rows[at.r];
  const fault = columns[at.c];
  const panel = document.getElementById("panel");
  const sides = cellsAt(net, point.id, fault.fault);
  panel.replaceChildren(
    el("div", { class: "top" },
      el("strong", {}, ...(two ? [] : [mark(sides[0].outcome), sides[0].outcome.title])
        .concat(two ? [`${point.verb} of ${point.plugin}`] : [])),
      el("button", { title: "previous bad cell (p)", onclick: () => step(-1) }, "◀ bad"),
      el("button", { title: "next bad cell (n)", onclick: () => step(1) }, "bad ▶"),
      el("button", { title: "close (Esc)", "aria-label": "close", onclick: closePanel }, "✕")),
    el("div", { class: "asks" }, point.text),
    el("dl", { class: "facts" },
      ...fact("fault", fault.name === fault.words ? fault.name : `${fault.name}: ${fault.words}`),
      ...fact("at", `${point.verb} of ${point.by}, the ${ordinal(point.occurrence)} time that it asks this`),
      ...fact("network", net.name)),
    ...sides.map((cell, i) => tellSide(net, point, cell, i)),
    el("h2", {}, "To repeat it"),
    repeatLine(`fairlead-lab run CONFLIST --plugins DIR --point ${quote(point.name)} --faults ${quote(fault.name)}`));
  panel.hidden = false;
  panel.scrollTop = 0;
}

const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];

function ordinal(n) {
  const teen = Math.floor(n / 10) % 10 === 1;
  return n + ((!teen && { 1: "st", 2: "nd", 3: "rd" }[n % 10]) || "th");
}

// quote is a text as one word of a shell.
const quote = (s) => (/^[\w.\/-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`);

function tellSide(net, point, cell, i) {
  const side = net.sides[i];
  const box = el("div", { class: "side" });
  if (two) box.append(el("h2", {}, ...(cell ? [mark(cell.outcome)] : []), suites[i] + (cell ? `: ${cell.outcome.title}` : "")));
  if (!cell) {
    const why = !side ? "This network was not run." : side.has.has(point.id) ? "This fault was not run here." : "It never asks this.";
    box.append(el("p", { class: "ok" }, why));
    if (!side?.has.has(point.id)) return box;
  } else {
    if (!two) box.append(el("p", {}, cell.outcome.words));
    box.append(el("h2", {}, "What the calls answered"), el("ol", { class: "steps" }, ...stepsOf(cell).map(tellStep)));
  }
  if (cell?.trace.length) {
    box.append(el("h2", {}, "The call under the fault, around the point"), tracedLines(cell));
  } else {
    box.append(...cleanTrace(side, point));
  }
  return box;
}

function tellStep(s) {
  return el("li", {}, el("span", {}, s.call),
    s.error ? el("span", { class: "said" }, s.error) : el("span", { class: "ok" }, "success"),
    s.found.length ? el("ul", {}, ...s.found.map((f) => el("li", {}, mark(f.outcome), el("span", {}, f.text)))) : null);
}

// tracedLines is the trace that a cell keeps, whose line at the point begins
// with "> ".
function tracedLines(cell) {
  return el("ol", { class: "trace" }, ...cell.trace.map((i) => {
    const line = raw.texts[i];
    const here = line.startsWith("> ");
    return el("li", { class: here ? "here" : "" }, here || line.startsWith("  ") ? line.slice(2) : line);
  }));
}

// cleanTrace is the trace without fault around a point, or all of it.
function cleanTrace(side, point) {
  const events = side.traces.get(point.verb) || [];
  const at = events.findIndex((e) => e[3] === point.id);
  if (at < 0) return [];
  const list = el("ol", { class: "trace" });
  const fill = (from, to) => list.replaceChildren(...events.slice(from, to).map((e) => traceLine(e, e[3] === point.id)));
  const from = Math.max(0, at - around), to = Math.min(events.length, at + around + 1);
  fill(from, to);
  const title = `Without fault, around the point (call ${digits(at + 1)} of ${digits(events.length)})`;
  const parts = [list];
  if (to - from < events.length) {
    const more = el("button", { onclick: () => (fill(0, events.length), more.remove()) }, "Show all");
    parts.push(more);
  }
  // Beside another suite, what it found comes before what this one does in peace.
  return two ? [el("details", {}, el("summary", {}, title), ...parts)] : [el("h2", {}, title), ...parts];
}

function traceLine([plugin, program, text], here) {
  const [by, of] = [raw.texts[program], raw.texts[plugin]];
  return el("li", { class: here ? "here" : "" }, el("b", {}, by && by !== of ? `${of}/${by}  ` : `${of}  `), raw.texts[text]);
}

// fillAbout tells of a network as a whole: where and when it ran, what is to be
// known of its clean calls, and what its plugins got.
function fillAbout(net) {
  const panel = document.getElementById("panel");
  panel.replaceChildren(
    el("div", { class: "top" }, el("strong", {}, `About ${net.name}`),
      el("button", { title: "close (Esc)", "aria-label": "close", onclick: closePanel }, "✕")),
    ...net.sides.flatMap((side, i) => [
      two ? el("h2", {}, suites[i]) : null,
      side ? el("dl", { class: "facts" }, ...side.about.flatMap(([name, value]) => fact(name, value))) : el("p", {}, "This network was not run."),
      side?.list ? el("h2", {}, "Configuration") : null,
      side?.list ? el("pre", { class: "config" }, JSON.stringify(side.list, null, 2)) : null,
    ]).filter(Boolean));
  panel.hidden = false;
  panel.scrollTop = 0;
}

function repeatLine(command) {
  const copy = el("button", { onclick: () => navigator.clipboard?.writeText(command).then(() => (copy.textContent = "Copied")) }, "Copy");
  return el("div", { class: "repeat" }, el("code", {}, command), copy);
}
