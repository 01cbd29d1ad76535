// Where the run errs, by a lexicon that it has not seen.

import { askJson } from "./asking.js";
import { bandsPicture, element } from "./drawing.js";

const AT_ONCE = 200;

export class Errors {
  constructor(chosen) {
    Object.assign(this, { chosen, sort: "rank", falling: false, shown: AT_ONCE, errors: [], loads: 0, of: "source" });
    this.side = document.getElementById("errors-side");
    this.retrieval = document.getElementById("errors-retrieval");
    for (const select of [this.side, this.retrieval]) select.addEventListener("change", () => this.load());
    for (const button of document.querySelectorAll("[data-sort]")) {
      button.addEventListener("click", () => this.sortBy(button.dataset.sort));
    }
    document.getElementById("more-errors").addEventListener("click", () => { this.shown += AT_ONCE; this.fill(); });
  }

  async load() {
    const [side, number] = [this.side.value, (this.loads += 1)];
    let judged;
    try {
      judged = await askJson("/api/judged", { side, retrieval: this.retrieval.value });
    } catch (refusal) {
      judged = { right: 0, asked: 0, bands: [], errors: [], why: refusal.message };
    }
    if (number !== this.loads) return; // A later question was asked meanwhile.
    this.of = side;
    const share = ((100 * judged.right) / judged.asked).toFixed(1);
    document.getElementById("errors-sum").textContent = judged.why ?? `${judged.right} of ${judged.asked} right (${share} %)`;
    document.getElementById("bands").replaceChildren(...(judged.why ? [] : [bandsPicture(judged.bands)]));
    this.errors = judged.errors;
    this.shown = AT_ONCE;
    this.fill();
  }

  sortBy(name) {
    this.falling = name === this.sort ? !this.falling : false;
    this.sort = name;
    this.fill();
  }

  fill() {
    const valueOf = (error) => (this.sort === "place" ? error.place ?? Infinity : error[this.sort]);
    const sign = this.falling ? -1 : 1;
    const compare = (one, other) => {
      if (this.sort === "word") return sign * one.word.localeCompare(other.word);
      const [a, b] = [valueOf(one), valueOf(other)];
      return a === b ? one.rank - other.rank : sign * (a < b ? -1 : 1);
    };
    const sorted = [...this.errors].sort(compare);
    document.getElementById("errors").replaceChildren(...sorted.slice(0, this.shown).map((error) => this.line(error)));
    document.getElementById("more-errors").hidden = sorted.length <= this.shown;
    for (const button of document.querySelectorAll("[data-sort]")) {
      const order = this.falling ? "descending" : "ascending";
      button.parentElement.setAttribute("aria-sort", button.dataset.sort === this.sort ? order : "none");
    }
  }

  line(error) {
    const word = element("button", { type: "button", class: "word", dir: "auto" }, error.word);
    word.addEventListener("click", () => this.chosen(this.of, { row: error.rank - 1 }));
    const cells = [String(error.rank), word, error.found[0], error.right.join(", "), error.place === null ? "–" : String(error.place)];
    return element("tr", {}, ...cells.map((cell) => element("td", { dir: "auto" }, cell)));
  }
}
