const numbers = JSON.parse(document.getElementById("numbers").textContent);
const the = (id) => document.getElementById(id);
const { sets, tables } = numbers;
const COLUMN = { name: 0, number: 1, paired: 2, labels: 3, counts: 4, far: 5, card: 6 };

// ---------------------------------------------------------------- tabs
const tabs = [...document.querySelectorAll("[role=tab]")];
const panels = tabs.map((tab) => the(tab.getAttribute("aria-controls")));

function open(chosen, focus = false) {
  tabs.forEach((tab, i) => {
    tab.setAttribute("aria-selected", tab === chosen);
    tab.tabIndex = tab === chosen ? 0 : -1;
    panels[i].hidden = tab !== chosen;
  });
  if (focus) chosen.focus();
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    open(tabs[(to + tabs.length) % tabs.length], true);
  });
});

// ---------------------------------------------------------------- one table
const VIEWS = {
  far: { title: "difference: how far the pair is from the real one", of: (b) => shares(b.far) },
  real: { title: "real: how much the two have to do with each other (V)", of: (b) => shares(b.real) },
  made: { title: "synthetic: how much they have to do there (V)", of: (b) => shares(b.made) },
  gain: {
    title: "lost and invented: V of the synthetic rows less that of the real ones",
    signed: true,
    of: (b) => { const real = shares(b.real); return shares(b.made).map((v, i) => (v === null ? null : v - real[i])); },
  },
};

const table = () => tables[Number(the("table").value)];
const columnName = (t, c) => t.columns[c][COLUMN.name];

/** Columns that take part in no pair of this kind are left out of the picture. */
function drawHeatmap() {
  const here = table(), block = here.blocks[Number(the("block").value)];
  const holder = the("heatmap"), words = the("table-words");
  words.textContent = "";
  if (!block) return holder.replaceChildren(put("p", { class: "quiet" }, "This table has no pairs in this file."));
  const other = tables[block.other], view = VIEWS[the("view").value], all = view.of(block), wide = other.columns.length;
  const down = here.columns.map((_, i) => i).filter((i) => here.columns[i][COLUMN.paired]);
  const across = other.columns.map((_, j) => j).filter((j) => other.columns[j][COLUMN.paired]);
  const values = down.flatMap((i) => across.map((j) => all[i * wide + j]));
  const scale = the("view").value === "far" ? Math.max(0.15, ...values.map((v) => v ?? 0)) : 1;
  words.textContent = `${here.rows[0].toLocaleString("en")} real rows, ${here.rows[1].toLocaleString("en")} synthetic. Pick a square to see the pair; the darkest stands for ${scale.toFixed(2)}.${numbers.left_out ? ` ${numbers.left_out.toLocaleString("en")} pairs and heatmaps had no room in this file.` : ""}`;
  holder.replaceChildren(heatmap({
    down: down.map((i) => columnName(here, i)),
    across: across.map((j) => columnName(other, j)),
    values, scale, words,
    signed: view.signed,
    label: `${here.name}, pairs ${block.title}: ${view.title}`,
    tell: (i, j, value) => `${columnName(here, down[i])} and ${columnName(other, across[j])}: ${value.toFixed(2)}`,
    pick: (i, j) => choose(down[i], `${block.other},${across[j]},${block.back}`, true),
  }));
}

function listWorst() {
  const here = table();
  const rows = here.worst.map(([address, far, real, made]) => {
    const [, column, other, partner, back] = address.split(",").map(Number);
    const name = `${columnName(here, column)} and ${partnerName(here, other, partner, back)}`;
    const button = put("button", { type: "button", class: "link" }, name);
    button.addEventListener("click", () => choose(column, `${other},${partner},${back}`, true));
    return [button, far.toFixed(3), real.toFixed(2), made.toFixed(2)];
  });
  the("worst").replaceChildren(rows.length ? rowsOf(["pair", "distance", "V, real", "V, synthetic"], rows) : put("p", { class: "quiet" }, "none"));
}

function partnerName(here, other, partner, back) {
  const column = columnName(tables[other], partner);
  if (back < 0) return `${column} of another row`;
  if (back) return `${column}, ${back === 1 ? "1 row" : `${back} rows`} before`;
  return tables[other] === here ? column : `${tables[other].name}.${column}`;
}

/** Whatever the column is compared with, beside nothing. */
function fillPartners() {
  const here = table(), column = Number(the("column").value), options = [["", "(alone)"]];
  for (const block of here.blocks) {
    const matrix = shares(block.real), other = tables[block.other], wide = other.columns.length;
    other.columns.forEach((_, j) => {
      if (matrix[column * wide + j] !== null) options.push([`${block.other},${j},${block.back}`, partnerName(here, block.other, j, block.back)]);
    });
  }
  fill(the("other"), options);
}

function choose(column, partner, show = false) {
  the("column").value = String(column);
  fillPartners();
  the("other").value = partner;
  drawPair();
  if (show) the("pair-picks").scrollIntoView();
}

function found(t, column, partner) {
  const [other, j, back] = partner.split(",").map(Number);
  const straight = numbers.crosstabs[`${t},${column},${other},${j},${back}`];
  if (straight) return straight.map(crosstab);
  const turned = back <= 0 && other === t ? numbers.crosstabs[`${t},${j},${other},${column},${back}`] : null;
  if (!turned) return null;
  const high = labelled(tables[other].columns[j][COLUMN.labels]).length, wide = labelled(tables[t].columns[column][COLUMN.labels]).length;
  return turned.map(crosstab).map((cells) => Array.from({ length: high * wide }, (_, i) => cells[(i % high) * wide + Math.floor(i / high)]));
}

function drawPair() {
  const here = table(), t = tables.indexOf(here), column = Number(the("column").value), partner = the("other").value;
  const one = here.columns[column];
  const alone = (c) => [legend(sets), bars({ labels: labelled(c[COLUMN.labels]), series: c[COLUMN.counts].map(histogram), names: sets, label: `Histogram of ${c[COLUMN.name]}` })];
  the("histogram").replaceChildren(...(one ? alone(one) : []));
  the("crosstab").replaceChildren();
  if (!partner || !one) return;
  const [other, j] = partner.split(",").map(Number), two = tables[other].columns[j];
  const cells = found(t, column, partner);
  if (!cells) {
    return the("crosstab").replaceChildren(put("p", { class: "quiet" }, "The cells of this pair are not in this file: it keeps those of the worst pairs. mare.evaluate(…).pairs has them."));
  }
  the("histogram").replaceChildren();
  the("crosstab").replaceChildren(...threeGrids(labelled(one[COLUMN.labels]), labelled(two[COLUMN.labels]), cells, `${one[COLUMN.name]} (down) and ${two[COLUMN.name]} (across)`));
}

/** The difference first, then the real and the synthetic table. Bins that neither side has are left out. */
function threeGrids(down, across, [real, made], label) {
  const wide = across.length;
  const has = (cells, i, j) => cells[i * wide + j] > 0;
  const rows = down.map((_, i) => i).filter((i) => across.some((_, j) => has(real, i, j) || has(made, i, j)));
  const columns = across.map((_, j) => j).filter((j) => down.some((_, i) => has(real, i, j) || has(made, i, j)));
  const some = (cells) => rows.flatMap((i) => columns.map((j) => cells[i * wide + j]));
  const difference = some(made).map((share, place) => share - some(real)[place]);
  const most = Math.max(1e-9, ...some(real), ...some(made));
  const grid = (title, values, signed, scale) => figure(title, heatmap({
    down: rows.map((i) => down[i]), across: columns.map((j) => across[j]), values, signed, scale, widest: 18,
    label: `${label}: ${title}`,
    tell: (i, j, value) => `${down[rows[i]]}, ${across[columns[j]]}: about ${signed && value > 0 ? "+" : ""}${percent(value)}`,
  }));
  return [
    put("p", { class: "quiet" }, `${label}. Difference: `, put("b", { class: "more" }, "too many"), ", ", put("b", { class: "less" }, "too few"), "."),
    grid("difference", difference, true, Math.max(1e-9, ...difference.map(Math.abs))),
    grid("real", some(real), false, most),
    grid("synthetic", some(made), false, most),
  ];
}

function drawLengths() {
  const drawn = table().lengths.map((length) =>
    figure(`rows per ${length.per === "entity" ? "entity" : `row of ${length.per}`}`, bars({ labels: labelled(length.labels), series: length.counts.map(histogram), names: sets, label: `Rows per ${length.per}` })));
  the("lengths").replaceChildren(...(drawn.length ? [legend(sets), ...drawn] : [put("p", { class: "quiet" }, "One row an entity.")]));
}

function openTable() {
  const here = table();
  fill(the("block"), here.blocks.map((block, i) => [i, block.title]));
  if (here.worst.length) {
    const [, , other, , back] = here.worst[0][0].split(",").map(Number);
    the("block").value = String(Math.max(0, here.blocks.findIndex((block) => block.other === other && block.back === back)));
  }
  fill(the("column"), here.columns.map((column, i) => [i, `${column[COLUMN.name]} (${Math.max(0, column[COLUMN.far]).toFixed(2)}${column[COLUMN.card] ? `; card: ${column[COLUMN.card]}` : ""})`]));
  drawHeatmap();
  listWorst();
  drawLengths();
  const furthest = here.columns.reduce((worst, column, i) => (column[COLUMN.far] > here.columns[worst][COLUMN.far] ? i : worst), 0);
  choose(furthest, "");
}

// ---------------------------------------------------------------- sequences
function drawMoves() {
  const moves = numbers.transitions[Number(the("moves").value)];
  if (!moves) return;
  the("transitions").replaceChildren(...threeGrids(moves.labels, moves.labels, moves.counts.slice(0, 2).map(crosstab), `${moves.name}: from (down) to (across)`));
}

function drawSurvival() {
  const curve = numbers.survival[Number(the("event").value)];
  if (!curve) return;
  the("survival").replaceChildren(legend(sets), curves({
    x: curve.times, series: curve.curves, names: sets, unit: curve.unit, label: `Share of sequences without ${curve.event} so far`,
  }), put("p", { class: "quiet" }, `The share of sequences of ${curve.name} without ${curve.event} so far (Kaplan–Meier), by ${curve.unit || "time"} since the first row.`));
}

function drawTogether() {
  const keys = numbers.together[Number(the("keys").value)];
  if (!keys) return;
  the("together").replaceChildren(...threeGrids(keys.labels, keys.labels, keys.shares.slice(0, 2).map(shares), `${keys.name}: share of parents that have both`));
}

// ---------------------------------------------------------------- timelines
function drawTimeline() {
  const entity = numbers.timelines[Number(the("entity").value)];
  if (!entity) return;
  const told = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(", ");
  const lanes = [...new Set(entity.happenings.map((row) => row.table))];
  const last = Math.max(1, ...entity.happenings.map((row) => row.ends ?? row.begins ?? 0));
  const width = Math.min(room(), 960), left = Math.min(130, width * 0.3), step = 34;
  const px = (days) => left + ((width - left - 16) * days) / last;
  const drawn = picture(width, step * lanes.length + 34, "Rows of one synthetic entity along time");
  lanes.forEach((lane, i) => {
    const y = step * i + 20;
    drawn.append(put("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, short(lane, Math.floor(left / 7))), put("line", { x1: left, x2: width - 12, y1: y, y2: y, class: "rule" }));
    for (const row of entity.happenings.filter((one) => one.table === lane && one.begins !== null)) {
      const long = row.ends === null ? 0 : Math.max(0, px(row.ends) - px(row.begins));
      drawn.append(put("rect", { x: px(row.begins) - 3, y: y - 7, width: Math.max(6, long), height: 14, rx: 3, class: "event" },
        put("title", {}, `${lane}, day ${row.begins.toFixed(1)}: ${told(row.values)}`)));
    }
  });
  drawn.append(put("text", { x: left, y: step * lanes.length + 28 }, "day 0"), put("text", { x: width - 12, y: step * lanes.length + 28, "text-anchor": "end" }, `day ${last.toFixed(0)}`));
  const rows = entity.happenings.map((row) => [row.begins === null ? "" : String(Number(row.begins.toFixed(1))), row.table, told(row.values)]);
  const left_off = entity.rows - entity.happenings.length;
  the("timeline").replaceChildren(put("p", {}, told(entity.values)), drawn, rowsOf(["day", "table", "values"], rows),
    ...(left_off ? [put("p", { class: "quiet" }, `and ${left_off} more rows`)] : []));
}

// ---------------------------------------------------------------- beginning
function draw() {
  if (tables.length) openTable();
  if (the("moves")) { drawMoves(); drawSurvival(); drawTogether(); }
  if (the("entity")) drawTimeline();
}

fill(the("table"), numbers.order.map((name) => [tables.findIndex((one) => one.name === name), name]));
fill(the("view"), Object.entries(VIEWS).map(([key, view]) => [key, view.title]));
the("table").addEventListener("change", openTable);
the("block").addEventListener("change", drawHeatmap);
the("view").addEventListener("change", drawHeatmap);
the("column").addEventListener("change", () => choose(Number(the("column").value), ""));
the("other").addEventListener("change", drawPair);
const PICKED = [["moves", numbers.transitions.map((m) => m.name), drawMoves], ["event", numbers.survival.map((c) => `${c.event} (${c.name})`), drawSurvival],
  ["keys", numbers.together.map((k) => k.name), drawTogether], ["entity", numbers.timelines.map((e, i) => `${i + 1}: ${e.rows} rows`), drawTimeline]];
for (const [id, names, redraw] of PICKED) {
  if (!the(id)) continue;
  fill(the(id), names.map((name, i) => [i, name]));
  the(id).form.hidden = !names.length;
  if (id === "entity") the(id).value = String(names.length >> 1);
  the(id).addEventListener("change", redraw);
}
document.querySelectorAll("form").forEach((form) => form.addEventListener("submit", (event) => event.preventDefault()));
open(tabs[0]);
draw();
let width = room();
addEventListener("resize", () => { if (room() !== width) { width = room(); draw(); } });
