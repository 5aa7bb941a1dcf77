// Characters that turn the direction of text or control a terminal are shown as spaces.
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const data = JSON.parse(byId("data").textContent, (_, v) => typeof v === "string" ? v.replace(unsafe, " ") : v);
const parts = data.Parts || [];
for (const p of parts) {
  for (const list of ["Waves", "Resources", "Hooks", "Failures", "Critical"]) p[list] = p[list] || [];
  p.onPath = new Set(p.Critical.map((s) => (s.Hook ? p.Hooks : p.Resources)[s.Of]));
}
part = parts[0] || { Resources: [], Waves: [], Hooks: [], Failures: [], Critical: [], Seconds: 0, onPath: new Set() };

// head
const drawFacts = () => {
  byId("facts").textContent = [part.User && "by " + part.User, data.Commit && "commit " + data.Commit.slice(0, 12), new Date(data.Began).toLocaleString(undefined, { timeZoneName: "short" }), data.Context && "context " + data.Context, data.Server,
    data.Schedule && "schedule " + data.Schedule, "exit code " + data.ExitCode].filter(Boolean).join(" · ");
};
byId("message").textContent = data.Message;
byId("message").hidden = !data.Message;

// light and dark
const theme = byId("theme");
const setTheme = (dark) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  theme.textContent = dark ? "Light" : "Dark"; // what a click gives
};
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
theme.addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));

const choices = (id, values) => byId(id).replaceChildren(make("option", { value: "" }, "all"), ...[...new Set(values)].sort().map((v) => make("option", { value: v }, v)));

// what changed: a number for each change, which filters the timeline
const drawChanges = () => {
  byId("changes").hidden = !part.Resources.length;
  byId("changes-title").textContent = data.DryRun ? "What would change" : "What changed";
  const by = (c) => part.Resources.filter((r) => r.Change === c).length;
  const label = (c) => by(c).toLocaleString("en") + " " + changeText(c);
  byId("changes-list").replaceChildren(...changes.filter(by).map((c) => {
    const e = button("change " + c, () => {
      byId("change").value = byId("change").value === c ? "" : c;
      drawResources();
    }, label(c));
    e.dataset.change = c;
    return e;
  }));
};

// the critical path; of a long one the segments that cost most
let wholePath = false;
const segmentLabel = (s) => s.Of < 0 ? "preparation" : s.Hook ? part.Hooks[s.Of].Event + " hook " + part.Hooks[s.Of].Label : part.Resources[s.Of].Label;
const segmentLink = (s) => s.Of < 0 ? "preparation" : s.Hook ? button("link", () => reveal(part.Hooks[s.Of], "h" + s.Of), segmentLabel(s)) : link(s.Of, segmentLabel(s));
const drawCritical = () => {
  const path = part.Critical;
  byId("critical").hidden = !path.length;
  if (!path.length) return;
  const byCost = [...path].sort((a, b) => b.Cost - a.Cost);
  let text = "The " + part.Name.toLowerCase() + " took " + took(part.Seconds) + "; " + took(byCost[0].Cost) + " of it is " + segmentLabel(byCost[0]) + ".";
  const shorter = path.filter((s) => s.Without > 0).sort((a, b) => a.Without - b.Without)[0];
  if (shorter) text += " Without the edge that makes " + segmentLabel(shorter) + " wait (" + shorter.Why + "), it would have taken about " + took(shorter.Without) + ".";
  byId("critical-text").textContent = text;
  const strip = [], total = path.reduce((sum, s) => sum + s.Cost, 0);
  let rest = 0;
  for (const s of [...path, null]) {
    if (s && s.Of >= 0 && s.Cost < total / 200) { rest += s.Cost; continue; }
    if (rest > 0) strip.push(["rest", "shorter segments", rest]);
    rest = 0;
    if (s) strip.push([s.Of < 0 ? "rest" : s.Hook ? "hook" : "", segmentLabel(s), s.Cost]);
  }
  byId("critical-strip").replaceChildren(...strip.map(([kind, name, cost]) => {
    const e = make("span", { class: kind, title: name + ": " + took(cost) }, cost > total / 10 ? name + " " + took(cost) : "");
    e.style.flex = String(Math.max(cost, 0.001)) + " 1 0";
    return e;
  }));
  const long = path.length <= 15 ? path : byCost.slice(0, 15).filter((s) => s.Cost >= total / 100 || s.Without > 0), kept = new Set(wholePath ? byCost.slice(0, 1000) : long);
  const items = [];
  let folded = [];
  for (const [n, s] of [...path, null].entries()) {
    if (s && !kept.has(s)) { folded.push(s); continue; }
    if (folded.length) items.push(make("li", { class: "folded" }, folded.length.toLocaleString("en") + (folded.length > 1 ? " more segments " : " more segment ") + took(folded.reduce((sum, f) => sum + f.Cost, 0))));
    folded = [];
    if (s) items.push(make("li", { value: n + 1 }, segmentLink(s), " " + took(s.Cost),
      make("span", { class: "soft" }, (s.Why ? " · " + s.Why : "") + (s.Without > 0 ? "; without this edge about " + took(s.Without) : ""))));
  }
  byId("critical-list").replaceChildren(...items);
  byId("critical-more").hidden = path.length === long.length;
  byId("critical-more").textContent = wholePath ? "Show only the long segments" : "Show " + (path.length > 1000 ? "1,000 of " : "all ") + path.length.toLocaleString("en") + " segments";
};
byId("critical-more").addEventListener("click", () => { wholePath = !wholePath; drawCritical(); });

const some = (list, most) => list.slice(0, most).join(", ") + (list.length > most ? " and " + (list.length - most) + " more" : "");
const failurePages = pager(byId("failures").querySelector(".pager"), 20, (failures) => {
  byId("failures").querySelector(".list").replaceChildren(...failures.map((f) => make("div", { class: "failure" },
    make("p", { class: f.Findings ? "soft" : "" }, f.Message),
    ...(f.Findings || []).flatMap((x, i) => [make("p", { class: i ? "soft" : "cause" }, (x.About ? x.About + ": " : "") + x.Text),
      x.Log && x.Log.length ? make("pre", { tabindex: "0", role: "region", "aria-label": "log" }, x.Log.join("\n")) : null]),
    f.Blocks && f.Blocks.length ? make("p", { class: "soft" }, "not applied because of it: " + some(f.Blocks, 20)) : null,
    f.Of >= 0 ? link(f.Of, "Show " + part.Resources[f.Of].Label) : null)));
});

const draw = () => {
  for (const kept of [open, folds, limits]) kept.clear();
  wholePath = false;
  byId("text").value = "";
  byId("failures").hidden = !part.Failures.length;
  drawFacts();
  show(0, Infinity);
  failurePages.show(part.Failures);
  drawCritical();
  choices("change", part.Resources.map((r) => r.Change));
  choices("state", part.Resources.map(stateText));
  choices("layer", part.Resources.map(layerText));
  drawChanges();
  drawResources(0);
  drawGraph();
};
byId("warnings").hidden = !(data.Warnings || []).length;
byId("warnings").querySelector("ul").replaceChildren(...(data.Warnings || []).slice(0, 100).map((w) => make("li", null, w)));
if (parts.length > 1) {
  const nav = byId("parts");
  nav.hidden = false;
  nav.replaceChildren(...parts.map((p, n) => {
    const e = button("", () => {
      part = p;
      for (const b of nav.children) b.setAttribute("aria-current", String(b === e));
      draw();
    }, p.Name);
    e.setAttribute("aria-current", String(n === 0));
    return e;
  }));
}
byId("filter").addEventListener("submit", (e) => e.preventDefault());
for (const id of ["text", "change", "state", "layer", "order"]) byId(id).addEventListener("input", () => drawResources(0));
draw();
