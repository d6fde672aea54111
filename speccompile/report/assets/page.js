const data = JSON.parse(document.getElementById("data").textContent);
const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

const rows = all(".line");
const numbers = new Map(rows.map((row, number) => [row, number]));
const lines = data.lines.map(([path, parent, origin, overridden]) => ({ path, parent, origin, overridden }));

/** Create an element; strings become text nodes, never markup. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

// Filters. The parents of a matching line stay visible.

const search = one("input[type=search]");
const reset = one("[data-reset]");
const layerButtons = all("[data-layer]");
const overridesButton = one("[data-overrides]");
const toggles = [...layerButtons, overridesButton];
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

/** Whether each line matches the filters; a key that matches the search includes all lines below it. */
function matching() {
  const query = search.value.trim().toLowerCase();
  const layers = layerButtons.filter(isPressed).map((button) => button.dataset.layer);
  const onlyOverrides = isPressed(overridesButton);
  const includesChildren = [];
  texts ??= rows.map((row) => row.textContent.toLowerCase());
  return lines.map(({ parent, origin, overridden }, number) => {
    const isMatch = texts[number].includes(query);
    const isIncluded = parent !== null && includesChildren[parent];
    includesChildren[number] = isIncluded || (isMatch && origin === null);
    return (
      (isMatch || isIncluded) &&
      (!layers.length || (origin !== null && layers.includes(data.origins[origin].layer))) &&
      (!onlyOverrides || overridden.length > 0)
    );
  });
}

function withParents(matches) {
  const visible = [...matches];
  for (let number = visible.length - 1; number >= 0; number--) {
    if (visible[number] && lines[number].parent !== null) visible[lines[number].parent] = true;
  }
  return visible;
}

function filter() {
  const matches = matching();
  const visible = withParents(matches);
  rows.forEach((row, number) => {
    row.hidden = !visible[number];
    row.classList.toggle("context", visible[number] && !matches[number]);
  });
  for (const { list, block, rows } of lists) {
    const first = rows.find((row) => !row.hidden);
    block.hidden = !first;
    if (first && one('[tabindex="0"]', list).hidden) makeTabStop(first);
  }
  for (const { section, entry, blocks } of runs) {
    entry.hidden = section.hidden = blocks.every((block) => block.hidden);
  }
  showCount(matches.filter(Boolean).length);
}

function showCount(count) {
  const isFiltered = search.value.trim() !== "" || toggles.some(isPressed);
  reset.hidden = !isFiltered;
  one("[data-nothing]").hidden = count > 0 || !isFiltered;
  const total = `${rows.length} ${rows.length === 1 ? "line" : "lines"}`;
  one("[aria-live]").textContent = isFiltered ? `${count} of ${total}` : total;
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

// Lines. Each manifest is one tab stop; the arrow keys continue into the next manifest.

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
  // Selecting text does not open the details.
  if (row && getSelection().isCollapsed) show(row);
});

// Details

const panel = one("aside");
const title = one("#details-title");
let selected = null;

function show(row) {
  const { path, origin: number, overridden } = lines[numbers.get(row)];
  const origin = data.origins[number];
  const isInManifest = row.parentElement.matches(".yaml");
  selected?.removeAttribute("aria-selected");
  selected = row;
  selected.setAttribute("aria-selected", "true");
  one(".of").textContent = `${one("h2", row.closest("section")).textContent}, ${row.parentElement.ariaLabel}`;
  // Allow a line break before each step of the path.
  title.replaceChildren(...path.split(/(?=[.[])/).flatMap((step) => [make("wbr", {}), step]));
  one(".details").replaceChildren(
    ...valueOf(row, origin),
    ...section(isInManifest ? "Set by" : "Overridden by", origin ? figureOf(origin) : "Not a value: see the lines below."),
    ...section("Derived", derivationOf(origin)),
    ...section(overriddenHeading(overridden.length), overriddenOf(row, overridden)),
  );
  panel.hidden = false;
  panel.scrollTop = 0;
  row.scrollIntoView({ block: "nearest" });
}

function close() {
  panel.hidden = true;
  selected.removeAttribute("aria-selected");
  (selected.hidden ? search : selected).focus();
  selected = null;
}

function section(heading, content) {
  return content.length === 0 ? [] : [make("section", {}, make("h3", {}, heading), content)];
}

function valueOf(row, origin) {
  const value = all("b", row).map((part) => part.textContent);
  return value.length ? [make("pre", { class: `value ${origin.layer}` }, value.join("\n"))] : [];
}

const overriddenHeading = (count) =>
  count > 1 ? "Overridden values, highest precedence first" : "Overridden value";

function overriddenOf(row, origins) {
  return all(".overridden", row).map((note, at) => {
    const [value, rule] = [one("del, em", note).cloneNode(true), one(".rule", note).textContent];
    return make("div", { class: "overridden-value" }, make("p", {}, value), make("p", {}, rule), originOf(origins[at]));
  });
}

/** The source of a value, followed by those it was derived from. */
function originOf(number) {
  const origin = data.origins[number];
  const figure = figureOf(origin);
  figure.append(...derivationOf(origin));
  return figure;
}

function derivationOf(origin) {
  return origin?.derived ? [make("p", {}, withCode(origin.derived)), ...origin.derivedFrom.map(originOf)] : [];
}

/** Text in backticks becomes code. */
const withCode = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));

function figureOf(origin) {
  const who = make("span", { class: "who" }, origin.who);
  const where = make("span", { class: "where" }, origin.position);
  const source = origin.noSource ? make("p", {}, origin.noSource) : excerpt(origin);
  return make("figure", { class: origin.layer }, make("figcaption", {}, who, " ", where), source);
}

function excerpt({ source, lines: [first, last], mark: [line, start, endLine, end] }) {
  const excerptLines = [];
  for (let number = first; number <= last; number++) {
    const text = data.sources[source][number];
    const isHere = line <= number && number <= endLine;
    const from = number === line ? start : text?.search(/\S|$/);
    const to = number === endLine ? end : Infinity;
    const content = text === null ? make("em", {}, data.hidden) : isHere ? marked(text, from, to) : clipped(text);
    excerptLines.push(make("span", isHere ? { class: "here" } : {}, make("i", {}, number), make("code", {}, content)));
  }
  return make("pre", { class: "excerpt" }, excerptLines);
}

/** Mark a range of the text, counted in code points, as Python counts. */
function marked(text, from, to) {
  const characters = [...text];
  const part = (start, end) => characters.slice(start, end).join("");
  return [clippedBefore(part(0, from)), make("mark", {}, clipped(part(from, to))), clipped(part(to))];
}

// Long lines are cut around the mark.
const MAX_CHARS = 240;
const clipped = (text) => (text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);
const clippedBefore = (text) => (text.length > MAX_CHARS ? `…${text.slice(-MAX_CHARS)}` : text);

one("[data-close]").addEventListener("click", close);

// Copying includes hidden lines, and only the YAML.

const yamlOf = (list) => `${all(".line > code", list).map((code) => code.textContent).join("\n")}\n`;

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
}

/** A fallback for browsers that deny clipboard access to pages opened from a file. */
function copyBySelection(text) {
  const field = make("textarea", { class: "offstage", "aria-hidden": "true", readonly: "" });
  const before = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  before?.focus();
  if (!isDone) throw new Error("copying failed");
}

for (const button of all("[data-copy]")) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    const text = all(".yaml", button.parentElement.parentElement).map(yamlOf).join("---\n");
    const answer = await copy(text).then(() => "Copied", () => "Copy failed");
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
  const act = key === "Escape" && selected ? close : Object.hasOwn(table, key) ? table[key] : null;
  if (!act) return;
  event.preventDefault();
  act(target);
});
