// What the other parts of the page use: elements, texts and pages of long lists.
const byId = (id) => document.getElementById(id);

// make returns an element. Children that are strings become text, never markup.
const make = (tag, attributes, ...children) => {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") e.className = value;
    else if (typeof value === "function") e.addEventListener(name, value);
    else if (value !== null && value !== undefined) e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
};
const button = (kind, click, ...children) => make("button", { type: "button", class: kind, click }, ...children);

const took = (s) => {
  if (s === null || s === undefined) return "";
  if (s < 1) return Math.round(s * 1000) + "ms";
  if (s < 60) return (Math.round(s * 10) / 10) + "s";
  const whole = Math.round(s);
  if (whole < 3600) return Math.floor(whole / 60) + "m" + String(whole % 60).padStart(2, "0") + "s";
  return Math.floor(whole / 3600) + "h" + String(Math.floor(whole % 3600 / 60)).padStart(2, "0") + "m";
};
const count = (n, noun) => n.toLocaleString("en") + " " + noun + (n === 1 ? "" : "s");

// short returns the name of a wave, of whose layers it lists two.
const short = (name) => {
  const layers = name.split(", ");
  return layers.length > 3 ? layers.slice(0, 2).join(", ") + " and " + (layers.length - 2) + " others" : name;
};

const changes = ["created", "configured", "deleted", "unchanged", "absent", "kept", "none"];
const changeText = (change) => change === "none" ? "not applied" : change;
const bad = (state) => state === "failed" || state === "timedOut";
const good = (state) => ["ready", "applied", "deleted", "done"].includes(state);
const stateClass = (state) => bad(state) ? "bad" : good(state) ? "good" : "soft";
const stateText = (r) => ({ timedOut: "timed out", notStarted: "not started", "": "not reached" }[r.State] || r.State) + (r.Assumed ? " (assumed)" : "");

// pager shows a part of a long list, so that the page stays small: draw gets the part,
// and the number of its first item.
const pager = (element, size, draw) => {
  let all = [], from = 0;
  const turn = (to, focus) => {
    from = Math.max(0, Math.min(to, all.length - 1));
    from -= from % size;
    const end = Math.min(from + size, all.length);
    draw(all.slice(from, end), from);
    element.hidden = all.length <= size;
    const back = button("", () => turn(from - size, "first"), "Previous"), on = button("", () => turn(from + size, "last"), "Next");
    back.disabled = from === 0;
    on.disabled = end === all.length;
    element.replaceChildren(back, make("span", null, (from + 1) + "–" + end + " of " + all.length.toLocaleString("en")), on);
    if (focus) (focus === "first" && !back.disabled || on.disabled ? back : on).focus();
  };
  return { show: (list, at) => { all = list; turn(at || 0); }, from: () => from };
};
