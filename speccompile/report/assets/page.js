const data = JSON.parse(document.getElementById("data").textContent);
const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

const rows = all(".line");
const numbers = new Map(rows.map((row, number) => [row, number]));
const lines = data.lines.map(([path, above, origin, lost]) => ({ path, above, origin, lost }));

/** An element with its attributes and children; strings become text nodes, so nothing in them is ever markup. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

// Filters: each of them narrows, and whatever opens a line that is left stays with it.

const search = one("input[type=search]");
const reset = one("[data-reset]");
const layerButtons = all("[data-layer]");
const overriddenButton = one("[data-overridden]");
const toggles = [...layerButtons, overriddenButton];
const lists = all("[role=listbox]").map((list) => ({ list, block: list.closest("article"), rows: all(".line", list) }));
const entries = all("nav li");
const runs = all("main > section").map((section, at) => ({
  section,
  entry: entries[at],
  blocks: all("article", section),
}));
let texts;

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
const press = (button, on) => button.setAttribute("aria-pressed", on);

/** For each line whether it passes; a key that is searched for brings all that stands below it. */
function passing() {
  const wanted = search.value.trim().toLowerCase();
  const layers = layerButtons.filter(isPressed).map((button) => button.dataset.layer);
  const onlyOverridden = isPressed(overriddenButton);
  const brings = [];
  texts ??= rows.map((row) => row.textContent.toLowerCase());
  return lines.map(({ above, origin, lost }, number) => {
    const isFound = texts[number].includes(wanted);
    const isBrought = above !== null && brings[above];
    brings[number] = isBrought || (isFound && origin === null);
    return (
      (isFound || isBrought) &&
      (!layers.length || (origin !== null && layers.includes(data.origins[origin].layer))) &&
      (!onlyOverridden || lost.length > 0)
    );
  });
}

function withWhatOpensThem(passes) {
  const shown = [...passes];
  for (let number = shown.length - 1; number >= 0; number--) {
    if (shown[number] && lines[number].above !== null) shown[lines[number].above] = true;
  }
  return shown;
}

function filter() {
  const passes = passing();
  const shown = withWhatOpensThem(passes);
  rows.forEach((row, number) => {
    row.hidden = !shown[number];
    row.classList.toggle("context", shown[number] && !passes[number]);
  });
  for (const { list, block, rows } of lists) {
    const first = rows.find((row) => !row.hidden);
    block.hidden = !first;
    if (first && one('[tabindex="0"]', list).hidden) makeTabStop(first);
  }
  for (const { section, entry, blocks } of runs) {
    entry.hidden = section.hidden = blocks.every((block) => block.hidden);
  }
  tellCount(passes.filter(Boolean).length);
}

function tellCount(count) {
  const isFiltered = search.value.trim() !== "" || toggles.some(isPressed);
  reset.hidden = !isFiltered;
  one("[data-nothing]").hidden = count > 0 || !isFiltered;
  const whole = `${rows.length} ${rows.length === 1 ? "line" : "lines"}`;
  one("[aria-live]").textContent = isFiltered ? `${count} of ${whole}` : whole;
}

function showAll() {
  search.value = "";
  for (const toggle of toggles) press(toggle, false);
  filter();
  search.focus();
}

search.addEventListener("input", filter);
reset.addEventListener("click", showAll);
for (const toggle of toggles) {
  toggle.addEventListener("click", () => {
    press(toggle, !isPressed(toggle));
    filter();
  });
}

// Lines: each manifest is one stop of the Tab key, and arrows go on from one manifest to the next.

let current = null;

function makeTabStop(row) {
  one('[tabindex="0"]', row.parentElement).tabIndex = -1;
  row.tabIndex = 0;
}

function move(step) {
  let number = current ? numbers.get(current) + step : 0;
  while (rows[number]?.hidden) number += step;
  const row = rows[number];
  if (!row) return;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
  if (!panel.hidden) show(row);
}

const main = one("main");
main.addEventListener("focusin", ({ target }) => {
  if (!numbers.has(target)) return;
  current = target;
  makeTabStop(target);
});
main.addEventListener("click", ({ target }) => {
  const row = target.closest(".line");
  // Whoever drags over a line wants its text.
  if (row && getSelection().isCollapsed) show(row);
});

// Details are made when somebody asks for them.

const panel = one("aside");
const title = one("#details-title");
let told = null;

function show(row) {
  const { path, origin: number, lost } = lines[numbers.get(row)];
  const origin = data.origins[number];
  const isSeen = row.parentElement.matches(".yaml");
  told?.removeAttribute("aria-selected");
  told = row;
  told.setAttribute("aria-selected", "true");
  one(".of").textContent = `${one("h2", row.closest("section")).textContent}, ${row.parentElement.ariaLabel}`;
  // A path may break before each of its steps.
  title.replaceChildren(...path.split(/(?=[.[])/).flatMap((step) => [make("wbr", {}), step]));
  one(".details").replaceChildren(
    ...valueOf(row, origin),
    ...section(isSeen ? "Set by" : "Gave way to", origin ? placeOf(origin) : "Nobody: it only opens what is below it."),
    ...section("Derived", derivationOf(origin)),
    ...section(lost.length > 1 ? "What lost, strongest first" : "What lost", lostOf(row, lost)),
  );
  panel.hidden = false;
  panel.scrollTop = 0;
  row.scrollIntoView({ block: "nearest" });
}

function close() {
  panel.hidden = true;
  told.removeAttribute("aria-selected");
  (told.hidden ? search : told).focus();
  told = null;
}

function section(heading, content) {
  return content.length === 0 ? [] : [make("section", {}, make("h3", {}, heading), content)];
}

function valueOf(row, origin) {
  const value = all("b", row).map((part) => part.textContent);
  return value.length ? [make("pre", { class: `value ${origin.layer}` }, value.join("\n"))] : [];
}

function lostOf(row, origins) {
  return all(".lost", row).map((note, at) => {
    const [value, rule] = [one("del, em", note).cloneNode(true), one(".rule", note).textContent];
    return make("div", { class: "loss" }, make("p", {}, value), make("p", {}, rule), originOf(origins[at]));
  });
}

/** Where a value stands, and below it where the things stand that it was derived from. */
function originOf(number) {
  const origin = data.origins[number];
  const place = placeOf(origin);
  place.append(...derivationOf(origin));
  return place;
}

function derivationOf(origin) {
  return origin?.derived ? [make("p", {}, origin.derived), ...origin.madeOf.map(originOf)] : [];
}

function placeOf(origin) {
  const who = make("span", { class: "who" }, origin.who);
  const where = make("span", { class: "where" }, origin.place);
  const shown = origin.never ? make("p", {}, origin.never) : excerpt(origin);
  return make("figure", { class: origin.layer }, make("figcaption", {}, who, " ", where), shown);
}

function excerpt({ source, lines: [first, last], mark: [line, start, endLine, end] }) {
  const shown = [];
  for (let number = first; number <= last; number++) {
    const text = data.sources[source][number];
    const isHere = line <= number && number <= endLine;
    const from = number === line ? start : text?.search(/\S|$/);
    const to = number === endLine ? end : Infinity;
    const content = text === null ? make("em", {}, data.hidden) : isHere ? marked(text, from, to) : clipped(text);
    shown.push(make("span", isHere ? { class: "here" } : {}, make("i", {}, number), make("code", {}, content)));
  }
  return make("pre", { class: "excerpt" }, shown);
}

/** The text with a mark from one character to another; characters are counted whole, as Python counts them. */
function marked(text, from, to) {
  const characters = [...text];
  const part = (start, end) => characters.slice(start, end).join("");
  return [clippedBefore(part(0, from)), make("mark", {}, clipped(part(from, to))), clipped(part(to))];
}

// A line of any length stays readable around its mark.
const ROOM = 240;
const clipped = (text) => (text.length > ROOM ? `${text.slice(0, ROOM)}…` : text);
const clippedBefore = (text) => (text.length > ROOM ? `…${text.slice(-ROOM)}` : text);

one("[data-close]").addEventListener("click", close);

// Copying: the text of the lines, hidden ones too, without anything that stands beside them.

const yamlOf = (list) => `${all(".line > code", list).map((code) => code.textContent).join("\n")}\n`;

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
}

/** For pages that may not touch the clipboard themselves, as some browsers treat those opened from a file. */
function copyBySelection(text) {
  const field = make("textarea", { class: "offstage", "aria-hidden": "true", readonly: "" });
  const before = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  before?.focus();
  if (!isDone) throw new Error("the browser did not copy");
}

for (const button of all("[data-copy]")) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    const text = all(".yaml", button.parentElement.parentElement).map(yamlOf).join("---\n");
    const answer = await copy(text).then(() => "Copied", () => "Not copied");
    button.textContent = one("[role=status]").textContent = answer;
    setTimeout(() => (button.textContent = label), 2000);
  });
}

// Keys

const keys = {
  "/": () => search.focus(),
  j: () => move(1),
  k: () => move(-1),
};
const keysOnLines = {
  ...keys,
  ArrowDown: keys.j,
  ArrowUp: keys.k,
  Enter(row) {
    show(row);
    title.focus({ preventScroll: true });
  },
};
const keysInSearch = {
  Enter() {
    current = null;
    move(1);
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target, key } = event;
  const table = target === search ? keysInSearch : numbers.has(target) ? keysOnLines : keys;
  const act = key === "Escape" && told ? close : Object.hasOwn(table, key) ? table[key] : null;
  if (!act) return;
  event.preventDefault();
  act(target);
});
