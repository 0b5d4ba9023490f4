"use strict";

// The matrix that is shown: rows are points, columns are faults that one of them
// has. It is built when the network or the verb changes; filters only hide rows
// and dim cells.
let matrix = null;

function buildMatrix(net, verb) {
  const points = net.points.filter((p) => !verb || p.verb === verb);
  const shown = new Set(points.map((p) => p.id));
  const used = new Set();
  for (const s of net.sides) {
    for (const c of s?.cells.values() || []) if (shown.has(c.point)) used.add(c.fault);
  }
  const columns = net.faults.map((f, fault) => ({ fault, ...f })).filter((c) => used.has(c.fault));
  const body = el("tbody");
  const rows = [];
  let last = null;
  for (const p of points) {
    if (!verb && p.verb !== last) body.append((last = p.verb, verbRow(p.verb, columns.length)));
    const row = buildRow(net, p, columns, rows.length);
    rows.push(row);
    body.append(row.tr);
  }
  const heads = columns.map((c) => el("th", { scope: "col", title: c.words }, el("span", {}, c.name)));
  const corner = el("th", { class: "corner", scope: "col" }, el("div", { id: "status", role: "status" }), two ? el("div", {}, `in a cell: ${suites[0]} | ${suites[1]}`) : null);
  const table = el("table", { class: two ? "matrix two" : "matrix", role: "grid", "aria-label": "points by faults" },
    el("thead", {}, el("tr", {}, corner, ...heads)), body);
  table.addEventListener("click", (e) => {
    const td = e.target.closest("td[data-c]");
    if (td) choose(Number(td.parentNode.dataset.r), Number(td.dataset.c));
  });
  table.addEventListener("keydown", matrixKey);
  matrix = { net, columns, rows, heads, table, groups: [...body.querySelectorAll("tr.verb")], at: null, chosen: null };
  return table;
}

function verbRow(verb, width) {
  const tr = el("tr", { class: "verb" }, el("th", { scope: "rowgroup" }, verb, el("small")), ...Array.from({ length: width }, () => el("td")));
  tr.dataset.verb = verb;
  return tr;
}

function buildRow(net, p, columns, r) {
  const tr = el("tr", {}, el("th", { scope: "row", title: p.name }, el("div", {}, el("b", {}, p.by), p.text,
    p.occurrence > 1 ? el("em", {}, ` #${p.occurrence}`) : null)));
  tr.dataset.r = r;
  const cells = columns.map((c, i) => {
    const sides = cellsAt(net, p.id, c.fault);
    const td = document.createElement("td");
    tr.append(td);
    if (!sides.some(Boolean)) return null;
    td.dataset.c = i;
    td.tabIndex = -1;
    if (!two) {
      td.className = sides[0].outcome.name;
      td.textContent = sides[0].outcome.mark;
    } else {
      for (const s of sides) td.append(el("i", { class: s ? s.outcome.name : "none" }, s ? s.outcome.mark : " "));
    }
    return { td, sides };
  });
  return { point: p, tr, cells, name: p.name.toLowerCase() };
}

// fitMatrix gives the points the room that the cells leave, as far as they need
// it; what one in ten needs more is cut, and told by the panel and the title.
function fitMatrix() {
  if (!matrix || !matrix.rows.length) return;
  const view = document.getElementById("view");
  const box = (matrix.rows.find((row) => row.shown) || matrix.rows[0]).tr.firstChild.firstChild;
  const free = view.clientWidth - (matrix.table.offsetWidth - box.offsetWidth) - 8;
  const lengths = matrix.rows.map((row) => row.name.length).sort((a, b) => a - b);
  const longest = Math.max(320, lengths[Math.floor(lengths.length * 0.9)] * 7.2);
  matrix.table.style.setProperty("--points", `${Math.round(Math.max(230, Math.min(free, longest)))}px`);
}

// filterMatrix shows what a filter wants: {plugin, show: names of outcomes, find,
// differ}. It answers how many points and cells are left.
function filterMatrix(filter) {
  const { net, rows, columns, groups } = matrix;
  const find = filter.find.toLowerCase();
  const words = columns.map((c) => c.name.toLowerCase());
  const wants = (cell, col, named) =>
    (!filter.show.length || cell.sides.some((s) => s && filter.show.includes(s.outcome.name))) &&
    (!filter.differ || (cell.sides.every(Boolean) && cell.sides[0].outcome !== cell.sides[1].outcome)) &&
    (!find || named || words[col].includes(find) || cell.sides.some((s) => s && said(s).includes(find)));
  const narrow = Boolean(filter.show.length || filter.differ || find);
  const left = new Map();
  let points = 0, cells = 0;
  for (const row of rows) {
    const named = !find || row.name.includes(find);
    let n = 0;
    row.cells.forEach((cell, col) => {
      if (!cell) return;
      const wanted = wants(cell, col, named);
      cell.wanted = wanted;
      cell.td.classList.toggle("dim", narrow && !wanted);
      if (wanted) n++;
    });
    row.shown = (!filter.plugin || row.point.plugin === filter.plugin) && (n > 0 || (!narrow && row.cells.every((c) => !c)));
    row.tr.hidden = !row.shown;
    if (!row.shown) continue;
    points++;
    cells += n;
    left.set(row.point.verb, (left.get(row.point.verb) || 0) + 1);
  }
  for (const tr of groups) {
    const n = left.get(tr.dataset.verb) || 0;
    tr.hidden = n === 0;
    tr.querySelector("small").textContent = n === 1 ? "1 point" : `${digits(n)} points`;
  }
  place(firstCell());
  return { points, cells, all: rows.length };
}

// place makes one cell the one that the Tab key comes to.
function place(at) {
  if (matrix.at) cellAt(matrix.at).td.tabIndex = -1;
  matrix.at = at;
  if (at) cellAt(at).td.tabIndex = 0;
}

const cellAt = ({ r, c }) => matrix.rows[r].cells[c];

function firstCell() {
  if (matrix.at && matrix.rows[matrix.at.r].shown) return matrix.at;
  const r = matrix.rows.findIndex((row) => row.shown && row.cells.some(Boolean));
  return r < 0 ? null : { r, c: matrix.rows[r].cells.findIndex(Boolean) };
}

// go moves to a cell, and tells of it there if the panel is open.
function go(at) {
  if (!at) return;
  place(at);
  const { td, sides } = cellAt(at);
  const row = matrix.rows[at.r];
  td.setAttribute("aria-label", sides.map((s) => (s ? s.outcome.title : "none")).join(" beside ") +
    `: ${row.point.name}, ${matrix.columns[at.c].name}`);
  td.focus({ preventScroll: true });
  reveal(td);
  if (matrix.chosen) choose(at.r, at.c);
}

// reveal scrolls so that a cell is not under what sticks.
function reveal(td) {
  const view = document.getElementById("view");
  const frame = view.getBoundingClientRect(), box = td.getBoundingClientRect();
  const head = matrix.table.tHead.offsetHeight + 4, side = td.parentNode.firstChild.offsetWidth + 4;
  if (box.top < frame.top + head) view.scrollTop -= frame.top + head - box.top;
  if (box.bottom > frame.top + view.clientHeight) view.scrollTop += box.bottom - frame.top - view.clientHeight + 60;
  if (box.left < frame.left + side) view.scrollLeft -= frame.left + side - box.left;
  if (box.right > frame.left + view.clientWidth) view.scrollLeft += box.right - frame.left - view.clientWidth + 4;
}

// beside is the next cell to the left or right.
function beside({ r, c }, step) {
  const { cells } = matrix.rows[r];
  for (c += step; c >= 0 && c < cells.length; c += step) if (cells[c]) return { r, c };
  return null;
}

// above is the nearest cell of the next row that is shown.
function above({ r, c }, step) {
  for (r += step; r >= 0 && r < matrix.rows.length; r += step) {
    const row = matrix.rows[r];
    if (!row.shown) continue;
    for (let d = 0; d < row.cells.length; d++) {
      if (row.cells[c - d]) return { r, c: c - d };
      if (row.cells[c + d]) return { r, c: c + d };
    }
  }
  return null;
}

// nextBad is the next cell of those shown that is bad.
function nextBad(step) {
  const { rows, columns } = matrix;
  const all = rows.length * columns.length;
  const from = matrix.chosen || matrix.at;
  let i = from ? from.r * columns.length + from.c : -1;
  if (from && !matrix.chosen) i -= step; // the one where we are, if nothing was shown yet
  for (let n = 0; n < all; n++) {
    i = (i + step + all) % all;
    const at = { r: Math.floor(i / columns.length), c: i % columns.length };
    const cell = cellAt(at);
    if (rows[at.r].shown && cell?.wanted && cell.sides.some((s) => s?.outcome.bad)) return at;
  }
  return null;
}

function matrixKey(e) {
  if (!matrix.at || e.ctrlKey || e.metaKey || e.altKey) return;
  const at = matrix.at;
  const to = {
    ArrowLeft: () => beside(at, -1), ArrowRight: () => beside(at, 1),
    ArrowUp: () => above(at, -1), ArrowDown: () => above(at, 1),
    Home: () => beside({ r: at.r, c: -1 }, 1), End: () => beside({ r: at.r, c: matrix.columns.length }, -1),
    PageUp: () => far(at, -1), PageDown: () => far(at, 1),
  }[e.key];
  if (to) {
    e.preventDefault();
    go(to());
  } else if (e.key === "Enter" || e.key === " ") {
    e.preventDefault();
    choose(at.r, at.c);
  }
}

function far(at, step) {
  for (let n = 0; n < 20; n++) at = above(at, step) || at;
  return at;
}

// highlight marks the cell that the panel tells of; null: none.
function highlight(at) {
  if (matrix.chosen) {
    cellAt(matrix.chosen).td.classList.remove("chosen");
    matrix.rows[matrix.chosen.r].tr.classList.remove("here");
    matrix.heads[matrix.chosen.c].classList.remove("here");
  }
  matrix.chosen = at;
  if (!at) return;
  cellAt(at).td.classList.add("chosen");
  matrix.rows[at.r].tr.classList.add("here");
  matrix.heads[at.c].classList.add("here");
}
