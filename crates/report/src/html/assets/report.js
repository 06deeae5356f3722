// Filters the items of a report. Without this script, the report shows all items.
const form = document.getElementById("filters");
const text = document.getElementById("text");
const count = document.getElementById("count");
const items = [...document.querySelectorAll(".item")];
const groups = [...document.querySelectorAll(".group")].toReversed();
const boxes = [...document.querySelectorAll('#filters input[name="status"]')];

const plurals = { probe: "probes", finding: "other findings", change: "changes" };

const texts = new Map();

/** Returns the text of an item with the heading of its group, in lower case. */
function textOf(item) {
  if (!texts.has(item)) {
    const heading = item.closest(".group")?.querySelector("h3, h4")?.textContent ?? "";
    texts.set(item, `${heading} ${item.textContent}`.toLowerCase());
  }
  return texts.get(item);
}

/** Shows the items that match all filters, and announces their number. */
function apply() {
  const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  const allStatuses = wanted.size === boxes.length;
  const terms = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = {};
  const all = {};
  for (const item of items) {
    const matches =
      (allStatuses || item.dataset.s.split(" ").some((word) => wanted.has(word))) &&
      terms.every((term) => textOf(item).includes(term));
    item.hidden = !matches;
    const { kind } = item.dataset;
    all[kind] = (all[kind] ?? 0) + 1;
    shown[kind] = (shown[kind] ?? 0) + (matches ? 1 : 0);
  }
  // Inner groups come first.
  for (const group of groups) {
    group.hidden = !group.querySelector(".item:not([hidden])");
  }
  const parts = Object.keys(all).map((kind) => `${shown[kind]} of ${all[kind]} ${plurals[kind]}`);
  count.textContent = `Showing ${parts.join(" and ")}.`;
}

/** Copies the facts of a prediction to the link that names them. */
function inlineFacts(details) {
  for (const link of details.querySelectorAll('.more > a[href^="#f"]')) {
    const source = document.getElementById(link.hash.slice(1));
    if (!source) {
      continue;
    }
    const copy = source.cloneNode(true);
    copy.removeAttribute("id");
    copy.open = false;
    copy.querySelector("summary").textContent = link.textContent;
    link.parentElement.replaceWith(copy);
  }
}

/** Opens or closes the items that are shown. */
function openAll(open) {
  for (const item of items) {
    if (item.localName === "details" && !item.hidden) {
      item.open = open;
    }
  }
}

/** Opens the facts, or another closed part, that the address names. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.localName === "details") {
    target.open = true;
  }
  target?.focus({ preventScroll: true });
}

for (const item of items) {
  item.addEventListener("toggle", () => item.open && inlineFacts(item));
}
addEventListener("hashchange", openTarget);
openTarget();

// Browsers that do not print closed parts get open ones.
let opened = [];
addEventListener("beforeprint", () => {
  opened = items.filter((item) => item.matches("details.bad:not([open])") && !item.hidden);
  for (const item of opened) {
    item.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const item of opened) {
    item.open = false;
  }
});

if (form) {
  form.hidden = false;
  let pending = 0;
  form.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(apply, 120);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("clear").addEventListener("click", () => {
    form.reset();
    apply();
  });
  document.getElementById("open-all").addEventListener("click", () => openAll(true));
  document.getElementById("close-all").addEventListener("click", () => openAll(false));
  addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input, select, textarea");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      text.focus();
    } else if (event.key === "Escape" && event.target === text) {
      text.value = "";
      apply();
    }
  });
  // A browser may restore the form after a reload.
  form.reset();
  apply();
}
