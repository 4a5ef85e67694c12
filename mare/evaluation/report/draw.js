"use strict";
// Pictures from packed numbers. Texts go into the page as text alone: whatever a value says, it is not read as HTML.
const LETTERS = Array.from({ length: 91 }, (_, i) => String.fromCharCode(35 + i)).filter((c) => !"<>\\&'".includes(c)).join("");
const MOST = LETTERS.length - 1;
const STEP = new Map([...LETTERS].map((letter, i) => [letter, i]));

const shares = (text) => [...text].map((letter) => (letter === " " ? null : STEP.get(letter) / MOST));

/** A cross-tab as shares of all rows. */
function crosstab([text, largest]) {
  const cells = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "~") {
      for (let zeros = STEP.get(text[++i]); zeros > 0; zeros--) cells.push(0);
    } else {
      cells.push((STEP.get(text[i]) / MOST) ** 2 * largest);
    }
  }
  return cells;
}

/** A histogram as shares of all rows. */
function histogram([text, largest]) {
  const whole = LETTERS.length ** 2 - 1;
  return Array.from({ length: text.length / 2 }, (_, i) => ((STEP.get(text[2 * i]) * LETTERS.length + STEP.get(text[2 * i + 1])) / whole) * largest);
}

/** Bins between edges, then those that have words. */
function labelled([edges, words]) {
  if (!edges.length) return words;
  const between = edges.slice(1).map((edge, i) => `${edges[i]} to ${edge}`);
  return [`below ${edges[0]}`, ...between, `${edges[edges.length - 1]} and more`, ...words];
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const room = () => Math.max(280, document.querySelector("main").clientWidth - 32);

function put(tag, attributes = {}, ...inside) {
  const svg = ["svg", "g", "rect", "text", "line", "path", "title", "circle"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

function picture(width, height, label) {
  return put("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

function figure(title, drawn) {
  return put("figure", {}, put("figcaption", {}, title), put("div", { class: "wide" }, drawn));
}

function legend(names) {
  return put("p", { class: "keys" }, ...names.map((name) => put("span", {}, put("i", { class: `set ${name}` }), name)));
}

/** Squares, darker for more; `signed` ones have two colours. The arrow keys move a cursor, Enter picks. */
function heatmap({ down, across, values, signed = false, scale = 1, label, tell, pick = null, words = null, widest = 26 }) {
  const names = Math.max(down.length, across.length);
  const cell = Math.max(5, Math.min(widest, Math.floor(Math.min(room() - 120, 620) / Math.max(1, names))));
  const named = cell >= 9;
  const longest = (list) => Math.min(24, Math.max(...list.map((name) => name.length), 1));
  const left = named ? 12 + 7.2 * longest(down) : 4;
  const top = named ? 14 + 5.2 * longest(across) : 4;
  const right = named ? Math.max(4, 5.2 * short(across[across.length - 1] ?? "", 24).length) : 4;
  const drawn = picture(left + cell * across.length + right, top + cell * down.length + 4, label);
  if (named) {
    down.forEach((name, i) => drawn.append(put("text", { x: left - 5, y: top + cell * (i + 0.5) + 4, "text-anchor": "end" }, short(name, 24))));
    across.forEach((name, j) => {
      const x = left + cell * (j + 0.5), y = top - 5;
      drawn.append(put("text", { x, y, transform: `rotate(-45 ${x} ${y})` }, short(name, 24)));
    });
  }
  values.forEach((value, place) => {
    if (value === null) return;
    const i = Math.floor(place / across.length), j = place % across.length;
    const strength = Math.min(1, Math.abs(value) / scale);
    const square = put(
      "rect",
      {
        x: left + cell * j, y: top + cell * i, width: cell - 1, height: cell - 1,
        class: `cell ${signed ? (value < 0 ? "less" : "more") : "much"}`, "fill-opacity": strength.toFixed(3),
      },
      put("title", {}, tell(i, j, value)),
    );
    if (pick) square.addEventListener("click", () => pick(i, j));
    drawn.append(square);
  });
  if (pick) {
    drawn.classList.add("picked");
    drawn.setAttribute("tabindex", "0");
    drawn.setAttribute("aria-label", `${label}. Arrow keys move, Enter picks.`);
    const cursor = put("rect", { width: cell - 1, height: cell - 1, class: "cursor", visibility: "hidden" });
    drawn.append(cursor);
    let at = [0, 0];
    drawn.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (move) {
        event.preventDefault();
        at = [Math.min(down.length - 1, Math.max(0, at[0] + move[0])), Math.min(across.length - 1, Math.max(0, at[1] + move[1]))];
        cursor.setAttribute("x", left + cell * at[1]);
        cursor.setAttribute("y", top + cell * at[0]);
        cursor.setAttribute("visibility", "visible");
        const value = values[at[0] * across.length + at[1]];
        if (words) words.textContent = value === null ? `${down[at[0]]} and ${across[at[1]]}: no pair` : tell(...at, value);
      } else if (event.key === "Enter" && values[at[0] * across.length + at[1]] !== null) {
        pick(...at);
      }
    });
  }
  return drawn;
}

/** One bar a bin and set, bins downwards: as many as there are, on a page of any width. */
function bars({ labels, series, names, label }) {
  const held = labels.map((_, i) => i).filter((i) => series.some((shares) => shares[i]));
  const most = Math.max(1e-9, ...series.flatMap((shares) => held.map((i) => shares[i])));
  const width = Math.min(room(), 760);
  const left = Math.min(width * 0.4, 12 + 6.4 * Math.max(4, ...held.map((i) => Math.min(24, labels[i].length))));
  const thick = 11, step = thick * series.length + 7;
  const drawn = picture(width, step * held.length + 6, label);
  held.forEach((bin, place) => {
    const y = step * place + 4;
    drawn.append(put("text", { x: left - 6, y: y + step / 2 + 1, "text-anchor": "end" }, short(labels[bin], Math.floor((left - 8) / 6.2)), put("title", {}, labels[bin])));
    series.forEach((shares, s) => {
      const share = shares[bin];
      const long = (width - left - 60) * (share / most);
      drawn.append(put("rect", { x: left, y: y + thick * s, width: Math.max(share ? 1 : 0, long), height: thick - 1, class: `set ${names[s]}` },
        put("title", {}, `${labels[bin]}, ${names[s]}: ${percent(share)}`)));
      drawn.append(put("text", { x: left + long + 4, y: y + thick * (s + 1) - 2, class: "tiny" }, percent(share)));
    });
  });
  return drawn;
}

/** Curves over a common x, from 0 to 1. */
function curves({ x, series, names, unit, label, marks = false, low = 0, high = 1, ticks = null, widest = 760 }) {
  const width = Math.min(room(), widest), height = 280, left = 46, bottom = 34;
  const drawn = picture(width, height, label);
  const span = x[x.length - 1] - x[0] || 1;
  const px = (value) => left + ((width - left - 12) * (value - x[0])) / span;
  const py = (value) => 8 + (height - bottom - 8) * (1 - (value - low) / (high - low || 1));
  for (let part = 0; part <= 4; part++) {
    const value = low + ((high - low) * part) / 4;
    drawn.append(put("line", { x1: left, x2: width - 12, y1: py(value), y2: py(value), class: "rule" }));
    drawn.append(put("text", { x: left - 6, y: py(value) + 4, "text-anchor": "end" }, value.toFixed(2)));
  }
  const shown = ticks || Array.from({ length: 5 }, (_, i) => ({ at: x[0] + (span * i) / 4, text: String(Number((x[0] + (span * i) / 4).toPrecision(3))) }));
  shown.forEach(({ at, text }, i) => drawn.append(put("text", { x: px(at), y: height - 14, "text-anchor": i === shown.length - 1 ? "end" : "middle" }, text)));
  drawn.append(put("text", { x: width - 12, y: height - 1, "text-anchor": "end", class: "tiny" }, unit));
  series.forEach((points, s) => {
    const known = points.map((y, i) => [x[i], y]).filter(([, y]) => y !== null);
    const d = known.map(([at, y], i) => `${i ? "L" : "M"}${px(at).toFixed(1)},${py(y).toFixed(1)}`).join(" ");
    drawn.append(put("path", { d, class: `curve ${names[s]}` }, put("title", {}, names[s])));
    if (marks) known.forEach(([at, y]) => drawn.append(put("circle", { cx: px(at), cy: py(y), r: 3.5, class: `set ${names[s]}` }, put("title", {}, `${names[s]}: ${y.toFixed(3)}`))));
  });
  return drawn;
}

function fill(select, options) {
  select.replaceChildren(...options.map(([value, text]) => put("option", { value }, text)));
}

function rowsOf(head, rows) {
  const line = (cells, tag) => put("tr", {}, ...cells.map((cell) => put(tag, {}, cell)));
  return put("div", { class: "wide", tabindex: "0", role: "region", "aria-label": head[0] },
    put("table", {}, put("thead", {}, line(head, "th")), put("tbody", {}, ...rows.map((row) => line(row, "td")))));
}
