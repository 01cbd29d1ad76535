// The search box: completes words while they are typed, by pointer or by keyboard.

import { askJson } from "./asking.js";
import { element } from "./drawing.js";

export class Completing {
  constructor(input, list, side, chosen) {
    Object.assign(this, { input, list, side, chosen, completions: [], active: -1, asked: 0 });
    input.addEventListener("input", () => this.complete());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
  }

  async complete() {
    const prefix = this.input.value.trim();
    const number = (this.asked += 1);
    if (!prefix) return this.close();
    const completions = await askJson("/api/complete", { side: this.side(), prefix }).catch(() => []);
    if (number !== this.asked || document.activeElement !== this.input) return undefined;
    this.completions = completions;
    this.active = -1;
    this.list.replaceChildren(...completions.map((completion, place) => {
      const item = element("li", { role: "option", id: `completion-${place}`, dir: "auto", "aria-selected": "false" }, completion.word);
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); this.take(completion); });
      return item;
    }));
    return this.open(completions.length > 0);
  }

  open(shown) {
    this.list.hidden = !shown;
    this.input.setAttribute("aria-expanded", String(shown));
    if (!shown) this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.asked += 1;
    this.completions = [];
    this.active = -1;
    this.open(false);
  }

  take(completion) {
    this.close();
    this.input.value = completion.word;
    this.chosen(this.side(), { row: completion.row });
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.completions.length) {
      event.preventDefault();
      this.active = (this.active + step + this.completions.length + (this.active < 0 && step < 0 ? 1 : 0)) % this.completions.length;
      [...this.list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === this.active)));
      this.list.children[this.active].scrollIntoView({ block: "nearest" });
      this.input.setAttribute("aria-activedescendant", `completion-${this.active}`);
    } else if (event.key === "Escape") {
      this.close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const word = this.input.value.trim();
      if (this.active >= 0) this.take(this.completions[this.active]);
      else if (word) { this.close(); this.chosen(this.side(), { word }); }
    }
  }
}
