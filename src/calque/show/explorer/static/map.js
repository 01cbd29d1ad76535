// The map of words: a canvas that draws every word as a point, wherever the slider puts the source language.

const NEAR = 14; // Pixels within which the pointer finds a word.
const LABELS = 60;
const ASIDE = [0, -14, 14, -28, 28]; // Pixels down, tried in turn for the name of a translation.

const within = (scale) => Math.min(4000, Math.max(0.5, scale));

export class WordMap {
  constructor(canvas, hover, chosen) {
    Object.assign(this, { canvas, hover, chosen, moved: 1, marked: null, pending: false });
    this.words = { source: [], target: [] };
    this.view = { x: 0, y: 0, scale: 1 };
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.listen();
  }

  // `places`: two numbers a word of the source before, the source after, the target.
  show(words, places) {
    const [n, m] = [words.source.length, words.target.length];
    this.words = words;
    this.before = places.subarray(0, 2 * n);
    this.after = places.subarray(2 * n, 4 * n);
    this.at = { target: places.subarray(4 * n, 4 * n + 2 * m), source: new Float32Array(2 * n) };
    this.move(this.moved);
    this.whole();
  }

  move(share) {
    this.moved = share;
    if (!this.at) return;
    const { before, after } = this;
    const places = this.at.source;
    for (let i = 0; i < places.length; i += 1) places[i] = before[i] + share * (after[i] - before[i]);
    this.draw();
  }

  // All words in sight, whatever the slider says, so that moving it does not move the ground.
  whole() {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const places of [this.before, this.after, this.at.target]) {
      for (let i = 0; i < places.length; i += 2) {
        left = Math.min(left, places[i]); right = Math.max(right, places[i]);
        low = Math.min(low, places[i + 1]); high = Math.max(high, places[i + 1]);
      }
    }
    this.fit = { x: (left + right) / 2, y: (low + high) / 2, width: right - left || 1, height: high - low || 1 };
    this.view = { x: this.fit.x, y: this.fit.y, scale: 1 };
    this.draw();
  }

  get pixels() { // To one unit of the plane.
    if (!this.fit) return 1;
    return 0.94 * this.view.scale * Math.min(this.canvas.clientWidth / this.fit.width, this.canvas.clientHeight / this.fit.height);
  }

  place(side, row) {
    const places = this.at?.[side];
    return places && 2 * row + 1 < places.length ? [places[2 * row], places[2 * row + 1]] : null;
  }

  toScreen([x, y]) {
    const k = this.pixels;
    return [this.canvas.clientWidth / 2 + k * (x - this.view.x), this.canvas.clientHeight / 2 - k * (y - this.view.y)];
  }

  mark(marked) { // { side, row, others: [rows of the other language] }
    this.marked = marked;
    const place = marked && this.place(marked.side, marked.row);
    if (place) {
      const [x, y] = this.toScreen(place);
      const inside = x > 20 && y > 20 && x < this.canvas.clientWidth - 20 && y < this.canvas.clientHeight - 20;
      if (!inside) [this.view.x, this.view.y] = place;
    }
    this.draw();
    return Boolean(place);
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.draw();
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.paint(); });
  }

  paint() {
    const began = performance.now();
    const context = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.at || !width) return;
    const style = getComputedStyle(document.documentElement);
    const colours = Object.fromEntries(["source", "target", "ink", "ground"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const size = Math.min(5, 1.6 + 0.6 * Math.log2(1 + this.view.scale));
    const taken = new Set();
    for (const side of ["target", "source"]) {
      context.fillStyle = colours[side];
      context.globalAlpha = 0.55;
      this.points(side, (x, y) => context.fillRect(x - size / 2, y - size / 2, size, size));
    }
    context.globalAlpha = 1;
    this.paintMarked(context, colours, taken);
    context.font = "12px system-ui, sans-serif";
    this.paintLabels(context, colours, taken);
    this.canvas.dataset.frame = (performance.now() - began).toFixed(1);
    this.canvas.dataset.drawn = String(this.at.source.length / 2 + this.at.target.length / 2);
  }

  // Calls `visit(x, y, row)` for the words of a side that are in sight, most frequent first, until it answers true.
  points(side, visit) {
    const places = this.at[side];
    const k = this.pixels;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const [a, b] = [width / 2 - k * this.view.x, height / 2 + k * this.view.y];
    for (let i = 0; i < places.length; i += 2) {
      const x = a + k * places[i];
      const y = b - k * places[i + 1];
      if (x >= 0 && y >= 0 && x <= width && y <= height && visit(x, y, i / 2) === true) return;
    }
  }

  // The most frequent words in sight, of both languages in turn, as long as there is room.
  paintLabels(context, colours, taken) {
    const [sources, targets] = ["source", "target"].map((side) => {
      const seen = [];
      this.points(side, (x, y, row) => seen.push([side, this.words[side][row], x, y]) === 40 * LABELS);
      return seen;
    });
    let left = 2 * LABELS;
    for (let place = 0; left > 0 && place < Math.max(sources.length, targets.length); place += 1) {
      for (const [side, word, x, y] of [sources[place], targets[place]].filter(Boolean)) {
        if (!this.free(context, word, x, y, taken)) continue;
        this.paintWord(context, word, x, y, colours[side], colours.ground);
        left -= 1;
      }
    }
  }

  // Whether a word can stand there without touching another or the edge; if so, its cells are taken.
  free(context, word, x, y, taken) {
    if (x < 0 || y < 0 || x > this.canvas.clientWidth || y > this.canvas.clientHeight) return false;
    const cells = [];
    const width = Math.min(220, context.measureText(word).width + 10);
    if (x + width > this.canvas.clientWidth) return false;
    for (let across = Math.floor((x + 2) / 12); across <= Math.floor((x + width) / 12); across += 1) {
      for (let down = Math.floor((y - 8) / 12); down <= Math.floor((y + 6) / 12); down += 1) cells.push(`${across},${down}`);
    }
    if (cells.some((cell) => taken.has(cell))) return false;
    cells.forEach((cell) => taken.add(cell));
    return true;
  }

  paintWord(context, word, x, y, colour, ground) {
    context.lineWidth = 3;
    context.strokeStyle = ground;
    context.strokeText(word, x + 5, y + 4, 220);
    context.fillStyle = colour;
    context.fillText(word, x + 5, y + 4, 220);
  }

  paintMarked(context, colours, taken) {
    if (!this.marked) return;
    const { side, row, others } = this.marked;
    const other = side === "source" ? "target" : "source";
    const markedPlace = this.place(side, row);
    if (!markedPlace) return;
    const [x, y] = this.toScreen(markedPlace);
    context.font = "bold 13px system-ui, sans-serif";
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.2;
    const placed = others.map((otherRow) => [otherRow, this.place(other, otherRow)]).filter(([, place]) => place);
    for (const [, place] of placed) {
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(...this.toScreen(place));
      context.stroke();
    }
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.stroke();
    this.free(context, this.words[side][row], x, y, taken);
    this.paintWord(context, this.words[side][row], x + 4, y, colours[side], colours.ground);
    for (const [otherRow, place] of placed) {
      const [u, v] = this.toScreen(place);
      const down = ASIDE.find((step) => this.free(context, this.words[other][otherRow], u, v + step, taken));
      if (down !== undefined) this.paintWord(context, this.words[other][otherRow], u, v + down, colours[other], colours.ground);
    }
  }

  nearest(x, y) {
    let [best, least] = [null, NEAR * NEAR];
    for (const side of ["source", "target"]) {
      this.points(side, (u, v, row) => {
        const distance = (u - x) ** 2 + (v - y) ** 2;
        if (distance < least) [best, least] = [{ side, row, x: u, y: v }, distance];
      });
    }
    return best;
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = within(this.view.scale * factor);
    const [across, down] = [x - this.canvas.clientWidth / 2, y - this.canvas.clientHeight / 2];
    const old = this.pixels;
    this.view.scale = scale;
    this.view.x += across / old - across / this.pixels;
    this.view.y -= down / old - down / this.pixels;
    this.changed();
  }

  // A view that somebody else has written down: never so far away or so near that nothing is left to see.
  look({ x, y, scale }) {
    if (!this.fit || ![x, y, scale].every(Number.isFinite)) return;
    const near = (value, middle, size) => Math.min(middle + size, Math.max(middle - size, value));
    this.view = { x: near(x, this.fit.x, this.fit.width), y: near(y, this.fit.y, this.fit.height), scale: within(scale) };
    this.draw();
  }

  // What the keys zoom about: the word that was looked up, where it is in sight.
  middle() {
    const place = this.marked && this.place(this.marked.side, this.marked.row);
    const [x, y] = place ? this.toScreen(place) : [-1, -1];
    return x > 0 && y > 0 && x < this.canvas.clientWidth && y < this.canvas.clientHeight ? [x, y] : [];
  }

  pan(across, down) {
    this.view.x -= across / this.pixels;
    this.view.y += down / this.pixels;
    this.changed();
  }

  changed() {
    this.hover.hidden = true;
    this.draw();
    this.canvas.dispatchEvent(new Event("view"));
  }

  listen() {
    const { canvas } = this;
    const held = new Map();
    let travelled = 0;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (this.at) this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.offsetX, event.offsetY]);
      if (held.size === 1) travelled = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.at) return;
      const before = held.get(event.pointerId);
      if (!before) return this.point(event);
      const now = [event.offsetX, event.offsetY];
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
        this.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else this.pan(now[0] - before[0], now[1] - before[1]);
      travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
      held.set(event.pointerId, now);
    });
    const release = (event) => {
      const alone = held.delete(event.pointerId) && held.size === 0;
      if (event.type === "pointerup" && alone && travelled < 4 && this.at) {
        const word = this.nearest(event.offsetX, event.offsetY);
        if (word) this.chosen(word.side, word.row);
      }
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { this.hover.hidden = true; });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  point(event) {
    const word = this.nearest(event.offsetX, event.offsetY);
    this.hover.hidden = !word;
    this.canvas.style.cursor = word ? "pointer" : "grab";
    if (!word) return;
    this.hover.textContent = this.words[word.side][word.row];
    this.hover.style.left = `${Math.min(word.x + 10, this.canvas.clientWidth - 60)}px`;
    this.hover.style.top = `${Math.max(0, word.y - 30)}px`;
  }

  key(event) {
    const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (!this.at || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4, ...this.middle());
    else if (event.key === "-") this.zoom(1 / 1.4, ...this.middle());
    else if (event.key === "0") { this.whole(); this.changed(); } else return;
    event.preventDefault();
  }
}
