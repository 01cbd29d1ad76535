// Elements and small pictures. Words only ever become text, never markup.

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function shape(name, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}

function frame(width, height, label) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

const LAST = { best: 2, same: 1 };

// Every start as a line: its cost, turn by turn. The crowd first, so that the best lies on top. `best` is what to call it.
export function searchPicture(starts, best) {
  const [width, height, left, top, bottom] = [640, 320, 44, 24, 34];
  const picture = frame(width, height, `The cost of ${starts.length} starts over their turns`);
  const costs = starts.flatMap((start) => [...start.path, start.cost]);
  if (!costs.length) return picture;
  const turns = Math.max(2, ...starts.map((start) => start.path.length));
  const [low, high] = [Math.min(...costs), Math.max(...costs, Math.min(...costs) + 1e-6)];
  const x = (turn) => left + ((width - left - 90) * turn) / (turns - 1);
  const y = (cost) => top + ((height - bottom - top) * (high - cost)) / (high - low);
  picture.append(shape("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - 84}` }));
  for (const cost of [low, (low + high) / 2, high]) {
    picture.append(shape("text", { x: left - 6, y: y(cost) + 4, "text-anchor": "end" }, cost.toFixed(2)));
  }
  picture.append(shape("text", { x: (left + width - 90) / 2, y: height - 8, "text-anchor": "middle" }, "turn"));
  picture.append(shape("text", { x: left, y: 12 }, "cost"));
  const cheapest = starts.reduce((one, other) => (other.cost < one.cost ? other : one));
  const named = starts.find((start) => start.role === "winner") ?? cheapest;
  const kindOf = (start) => (start === named ? "best" : start.role === "same" ? "same" : "crowd");
  const ordered = [...starts].sort((one, other) => (LAST[kindOf(one)] ?? 0) - (LAST[kindOf(other)] ?? 0));
  for (const start of ordered) {
    const path = start.path.length > 1 ? start.path : [start.cost, start.cost];
    const line = path.map((cost, turn) => `${turn ? "L" : "M"}${x(turn).toFixed(1)} ${y(cost).toFixed(1)}`).join("");
    const kind = kindOf(start);
    const drawn = shape("path", { class: `start ${kind}`, d: line });
    drawn.append(shape("title", {}, `start ${start.number}, ${start.kind}: cost ${start.cost.toFixed(3)} (${start === named ? best : start.role})`));
    const end = shape("circle", { class: `end ${kind}`, cx: x(path.length - 1), cy: y(start.cost), r: kind === "crowd" ? 2 : 4 });
    picture.append(drawn, end);
  }
  picture.append(shape("text", { x: width - 82, y: Math.min(height - bottom, y(named.cost) + 4) }, best));
  return picture;
}

export function bandsPicture(bands) {
  const [width, height, left, bottom] = [640, 220, 44, 40];
  const picture = frame(width, height, "Accuracy by frequency rank");
  const step = (width - left - 8) / Math.max(1, bands.length);
  const y = (share) => 8 + (height - bottom - 8) * (1 - share);
  for (const share of [0, 0.5, 1]) {
    picture.append(shape("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`));
  }
  bands.forEach((band, place) => {
    const share = band.right / band.asked;
    const [x, w] = [left + place * step + 2, step - 4];
    const bar = shape("rect", { class: "bar", x, y: y(share), width: w, height: y(0) - y(share) });
    bar.append(shape("title", {}, `ranks ${band.first} to ${band.last}: ${band.right} of ${band.asked}`));
    picture.append(shape("rect", { class: "whole", x, y: y(1), width: w, height: y(0) - y(1) }), bar);
    picture.append(shape("text", { x: x + w / 2, y: y(share) - 3, "text-anchor": "middle" }, `${Math.round(100 * share)}`));
    picture.append(shape("text", { x: x + w / 2, y: height - 22, "text-anchor": "middle" }, `≤ ${band.last}`));
  });
  picture.append(shape("text", { x: (left + width) / 2, y: height - 5, "text-anchor": "middle" }, "frequency rank, the most frequent words on the left"));
  return picture;
}
