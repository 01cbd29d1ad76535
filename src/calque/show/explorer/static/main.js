// The page: what is chosen, where one looks from, and how the two get into the address and back.

import { ask, askJson, Refusal } from "./asking.js";
import { Completing } from "./completing.js";
import { element, searchPicture } from "./drawing.js";
import { Errors } from "./errors.js";
import { WordMap } from "./map.js";

const byId = (id) => document.getElementById(id);
const TABS = ["map", "verdict", "errors", "texts"];
const NAMES = { source: "source", target: "target" };
const state = { side: "source", row: null, moved: 1, tab: "map", view: null };
let map;
let errors;
let looks = 0; // How many words were asked about: an answer that comes after that of a later question is dropped.

function otherSide(side) { return side === "source" ? "target" : "source"; }
function sideAsked() { return document.querySelector("input[name=side]:checked").value; }

// ---- looking words up

async function look(side, { word, row }, fromAddress = false) {
  const parameters = row === undefined ? { side, word } : { side, row };
  const number = (looks += 1);
  try {
    const answer = await askJson("/api/neighbours", parameters);
    if (number === looks) show(answer, fromAddress);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    if (number === looks) complain(refusal, side, word);
  }
}

function show(answer, fromAddress) {
  byId("message").hidden = byId("hint").hidden = true;
  byId("answer").hidden = false;
  Object.assign(state, { side: answer.side, row: answer.row });
  document.querySelector(`input[name=side][value=${answer.side}]`).checked = true;
  byId("search").value = answer.word;
  byId("asked").textContent = answer.word;
  byId("asked-of").textContent = `${NAMES[answer.side]}, rank ${answer.row + 1}`;
  for (const retrieval of ["nn", "csls"]) {
    byId(retrieval).replaceChildren(...answer[retrieval].map((translation) => candidate(answer.side, translation)));
  }
  const onMap = map.mark({ side: answer.side, row: answer.row, others: answer.csls.slice(0, 5).map((translation) => translation.row) });
  byId("map-note").dataset.off = onMap ? "" : "The word is too rare to be on the map.";
  noteOnMap();
  if (!fromAddress) remember();
}

function candidate(side, translation) {
  const other = otherSide(side);
  const word = element("button", { type: "button", dir: "auto" }, translation.word);
  word.addEventListener("click", () => look(other, { row: translation.row }));
  const back = element("span", { class: "back" });
  if (translation.returns) back.append(element("span", { class: "returns", title: "translates back" }, "↩"), " translates back");
  else back.append(element("span", { class: "strays", title: "translates back to" }, "⤳"), " ", element("bdi", { dir: "auto" }, translation.back.word));
  return element("li", {}, element("span", { class: "score" }, translation.score.toFixed(3)), word, back);
}

function complain(refusal, side, word) {
  const parts = [refusal.message];
  for (const similarWord of refusal.similar) parts.push(" ", chooser(side, similarWord, similarWord));
  for (const otherSideName of refusal.elsewhere) parts.push(" ", chooser(otherSideName, word, `look it up in ${NAMES[otherSideName]}`));
  byId("message").replaceChildren(...parts);
  byId("message").hidden = false;
  byId("answer").hidden = true;
}

function chooser(side, word, text) {
  const button = element("button", { type: "button", class: "word", dir: "auto" }, text);
  button.addEventListener("click", () => look(side, { word }));
  return button;
}

// ---- labelling texts

async function labelText(event) {
  event.preventDefault();
  const number = (looks += 1);
  try {
    const answer = await askJson("/api/text", { text: byId("text").value });
    if (number !== looks) return;
    byId("text-label").textContent = `${answer.label} (${answer.probability.toFixed(2)})`;
    byId("text-words").replaceChildren(...answer.words.map((reason) => {
      const word = chooser(answer.side, reason.word, reason.word);
      const nearest = element("bdi", { dir: "auto" }, reason.nearest.join(", "));
      return element("tr", {}, element("td", {}, word), element("td", {}, reason.part.toFixed(3)), element("td", {}, nearest));
    }));
    byId("text-message").hidden = true;
    byId("text-answer").hidden = false;
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    byId("text-message").textContent = refusal.message;
    byId("text-message").hidden = false;
    byId("text-answer").hidden = true;
  }
}

// ---- the view as an address, and as a file

function remember() {
  const parameters = new URLSearchParams({ side: state.side, moved: state.moved, tab: state.tab });
  if (state.row !== null) parameters.set("row", state.row);
  const { x, y, scale } = map.view;
  parameters.set("view", [x, y, scale].map((number) => Number(number.toPrecision(5))).join(","));
  history.replaceState(null, "", `#${parameters}`);
}

async function recall(text) {
  const parameters = new URLSearchParams(text);
  const moved = Number(parameters.get("moved") ?? 1);
  state.moved = moved >= 0 && moved <= 1 ? moved : 1;
  byId("moved").value = state.moved;
  map.move(state.moved);
  choose(TABS.includes(parameters.get("tab")) ? parameters.get("tab") : "map", true);
  const side = parameters.get("side") === "target" ? "target" : "source";
  if (/^\d{1,9}$/.test(parameters.get("row") ?? "")) await look(side, { row: Number(parameters.get("row")) }, true);
  else forget();
  const [x, y, scale] = (parameters.get("view") || "none").split(",").map(Number);
  map.look({ x, y, scale });
}

function forget() {
  looks += 1;
  state.row = null;
  map.mark(null);
  byId("answer").hidden = byId("message").hidden = true;
  byId("hint").hidden = false;
}

function saveView() {
  remember();
  const text = JSON.stringify({ calque: "view", state: location.hash.slice(1) }, null, 2);
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "calque-view.json" });
  link.click();
  URL.revokeObjectURL(link.href);
}

async function openView(file) {
  try {
    const view = JSON.parse(await file.text());
    if (view?.calque !== "view" || typeof view.state !== "string") throw new SyntaxError();
    await recall(view.state);
    remember();
  } catch {
    complain(new Refusal({ error: `${file.name}: is no saved view; expected a file made by 'Save this view'` }));
  }
}

async function copyLink() {
  remember();
  const button = byId("copy-link");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { button.textContent = "Copy a link to this view"; }, 2000);
}

// ---- tabs

function choose(tab, fromAddress = false) {
  state.tab = tab;
  for (const name of TABS) {
    byId(`${name}-panel`).hidden = name !== tab;
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === tab));
    byId(`tab-${name}`).tabIndex = name === tab ? 0 : -1;
  }
  if (!fromAddress) remember();
}

function tabKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = TABS[(TABS.indexOf(state.tab) + step + TABS.length) % TABS.length];
  choose(next);
  byId(`tab-${next}`).focus();
}

function noteOnMap() {
  const note = byId("map-note");
  note.textContent = [note.dataset.off, note.dataset.before].filter(Boolean).join(" ");
}

// ---- filling the page

function tellOf(lexicon) {
  byId("errors-told").textContent = lexicon?.learned ? "The run has learned from this very lexicon, which flatters it." : "The run has not learned from this lexicon.";
}

function call(names) {
  Object.assign(NAMES, names);
  document.title = `${names.source} → ${names.target} – calque`;
  for (const side of ["source", "target"]) {
    byId(`${side}-name`).textContent = names[side];
    for (const node of document.querySelectorAll(`.${side}-name`)) node.textContent = names[side];
    byId("errors-side").querySelector(`[value=${side}]`).textContent = names[side];
  }
}

function fill(run) {
  call(run.names);
  byId("verdict").textContent = byId("verdict-word").textContent =
    run.interrupted ? `${run.verdict} (interrupted)` : run.verdict;
  byId("verdict").className = `badge ${run.verdict}`;
  byId("facts").textContent = `${run.words.source} and ${run.words.target} words; recipe ${run.recipe}, seed ${run.seed}, ${run.seconds} s`;
  byId("reasons").replaceChildren(...[...run.reasons, ...run.notes].map((reason) => element("li", {}, reason)));
  tellOf(run.lexicon);
  byId("errors-missing").hidden = Boolean(run.lexicon);
  byId("errors-known").hidden = !run.lexicon;
  byId("texts-missing").hidden = run.labels;
  byId("texts-known").hidden = !run.labels;
}

async function fillSearch(best) {
  const starts = await askJson("/api/starts");
  const caption = starts.length
    ? `Every line is a start: what its map cost, turn by turn. Grey: the crowd that ended elsewhere; solid and thick: the ${best}; dashed: others that found the same map.`
    : "The log of this run tells of no starts.";
  byId("search-caption").textContent = caption;
  byId("search-picture").replaceChildren(...(starts.length ? [searchPicture(starts, best)] : []));
}

async function explore(run) {
  document.querySelector("main").classList.remove("live");
  byId("live-panel").hidden = true;
  byId("words-panel").hidden = false;
  document.querySelector("[role=tablist]").hidden = false;
  fill(run);
  choose("map", true);
  const [words, places] = await Promise.all([askJson("/api/map/words"), ask("/api/map/places").then((answer) => answer.arrayBuffer())]);
  map.show(words, new Float32Array(places));
  byId("moved").disabled = Boolean(words.why_not);
  byId("map-note").dataset.before = words.why_not;
  noteOnMap();
  await Promise.all([fillSearch(run.verdict === "failed" ? "cheapest" : "winner"), run.lexicon ? errors.load() : null]);
  await recall(location.hash.slice(1));
  document.body.dataset.ready = "yes";
}

// ---- a run under way

const SEARCHES = { search: "Searching", "deep search": "Searching deeper", judge: "Judging" };
const AFTERWARDS = { climb: "Climbing", alternate: "Aligning", refine: "Refining", contrast: "Contrasting" };

function tellStep(step, starts) {
  const searching = step.stage in SEARCHES;
  const doing = SEARCHES[step.stage] ?? AFTERWARDS[step.stage] ?? step.stage;
  byId("live-head").textContent = `${doing}: ${searching ? "start" : "step"} ${step.number} of ${searching ? "at most " : ""}${step.total}`;
  Object.assign(byId("live-bar"), { max: step.total, value: step.number });
  const best = starts.length ? `The best of ${starts.length} starts costs ${Math.min(...starts.map((start) => start.cost)).toFixed(3)}.` : "";
  byId("live-told").textContent = searching || !starts.length ? best : `${best} The run goes on from there.`;
}

function watch(names) {
  call(names);
  document.querySelector("main").classList.add("live");
  for (const name of TABS) byId(`${name}-panel`).hidden = true;
  document.querySelector("[role=tablist]").hidden = true;
  byId("words-panel").hidden = true;
  byId("live-panel").hidden = false;
  const starts = [];
  const source = new EventSource("/api/events");
  source.addEventListener("step", (event) => {
    const step = JSON.parse(event.data);
    if (step.stage in SEARCHES) {
      starts.push({ number: starts.length + 1, kind: step.kind ?? "", cost: step.cost, path: step.path ?? [], role: "so far" });
      byId("live-picture").replaceChildren(searchPicture(starts, "best so far"));
    }
    tellStep(step, starts);
  });
  source.addEventListener("over", async () => {
    source.close();
    await explore(await askJson("/api/run"));
  });
  source.addEventListener("error", () => { byId("live-told").textContent = "calque does not answer; the command may have been ended."; });
}

async function begin() {
  map = new WordMap(byId("map"), byId("hover"), (side, row) => look(side, { row }));
  errors = new Errors((side, word) => look(side, word));
  new Completing(byId("search"), byId("completions"), sideAsked, look);
  byId("search-form").addEventListener("submit", (event) => event.preventDefault());
  byId("text-form").addEventListener("submit", labelText);
  byId("moved").addEventListener("input", (event) => { state.moved = Number(event.target.value); map.move(state.moved); });
  byId("moved").addEventListener("change", remember);
  byId("map").addEventListener("view", () => { clearTimeout(map.later); map.later = setTimeout(remember, 200); });
  byId("whole").addEventListener("click", () => { map.whole(); remember(); });
  byId("save-view").addEventListener("click", saveView);
  byId("copy-link").addEventListener("click", copyLink);
  byId("open-view").addEventListener("change", (event) => { if (event.target.files[0]) openView(event.target.files[0]); event.target.value = ""; });
  for (const name of TABS) byId(`tab-${name}`).addEventListener("click", () => choose(name));
  document.querySelector("[role=tablist]").addEventListener("keydown", tabKey);
  addEventListener("hashchange", () => { if (document.body.dataset.ready && location.hash.includes("=")) recall(location.hash.slice(1)); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("search").focus(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) { event.preventDefault(); byId("search").focus(); byId("search").select(); }
  });
  const run = await askJson("/api/run");
  await (run.state === "running" ? watch(run.names) : explore(run));
}

begin().catch((error) => { byId("message").textContent = error.message; byId("message").hidden = false; });
