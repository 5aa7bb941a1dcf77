// The time that the tracks show: the style sheet computes their bars from --start and --span.
let part;
const shown = { start: 0, span: 1 };
const scale = byId("scale"), cursor = byId("cursor");

// bar returns a bar from one second to another; null for times that are not known.
const bar = (kind, from, to) => {
  if (from === null || to === null || to < from) return null;
  const e = make("i", { class: kind });
  e.style.setProperty("--from", from);
  e.style.setProperty("--to", to);
  return e;
};

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
const step = (least) => {
  if (least >= 1) return steps.find((s) => s >= least) || Math.ceil(least / 86400) * 86400;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((s) => s >= least * 0.999);
};
// instant returns a time of the run, as precise as a step.
const instant = (at, step) => {
  if (!(at > 0)) return "0s";
  const digits = Math.ceil(-Math.log10(step) - 1e-9);
  return digits <= 0 ? took(at) : (at >= 60 ? Math.floor(at / 60) + "m" : "") + (at % 60).toFixed(Math.min(digits, 3)) + "s";
};
const show = (start, span) => {
  const whole = part.Seconds || 0.001;
  shown.span = Math.min(whole, Math.max(span, 0.001));
  shown.start = Math.max(0, Math.min(start, whole - shown.span));
  const style = byId("area").style;
  style.setProperty("--start", shown.start);
  style.setProperty("--span", shown.span);
  const every = step(shown.span / 4), ticks = [];
  for (let n = Math.ceil(shown.start / every - 1e-9); n * every <= shown.start + shown.span * 0.92; n++) {
    const e = make("span", null, instant(n * every, every));
    e.style.setProperty("--from", n * every);
    ticks.push(e);
  }
  scale.replaceChildren(...ticks);
  for (const id of ["out", "left", "right", "all"]) byId(id).disabled = shown.span === whole;
};
const zoom = (factor) => {
  const at = cursor.hidden ? shown.start + shown.span / 2 : Number(cursor.dataset.at);
  show(at - (at - shown.start) * factor, shown.span * factor);
};
const moves = {
  in: () => zoom(1 / 2), out: () => zoom(2), all: () => show(0, Infinity),
  left: () => show(shown.start - shown.span / 4, shown.span), right: () => show(shown.start + shown.span / 4, shown.span),
};
for (const [id, move] of Object.entries(moves)) byId(id).addEventListener("click", move);
document.addEventListener("keydown", (e) => {
  const id = { "+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right" }[e.key];
  if (!id || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select") || byId(id).disabled) return;
  e.preventDefault();
  moves[id]();
});

// the time under the pointer
byId("area").addEventListener("pointermove", (e) => {
  const of = scale.getBoundingClientRect(), at = shown.start + (e.clientX - of.left) / of.width * shown.span;
  cursor.hidden = e.clientX < of.left || e.clientX > of.right;
  cursor.style.left = e.clientX - byId("area").getBoundingClientRect().left + "px";
  cursor.dataset.at = at;
  cursor.firstElementChild.textContent = instant(at, shown.span / 100);
});
byId("area").addEventListener("pointerleave", () => { cursor.hidden = true; });
