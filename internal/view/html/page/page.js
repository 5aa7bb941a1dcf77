// Characters that turn the direction of text or control a terminal are shown as spaces.
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const data = JSON.parse(byId("data").textContent, (_, v) => typeof v === "string" ? v.replace(unsafe, " ") : v);
const parts = data.Parts || [];
for (const p of parts) {
  for (const list of ["Waves", "Resources", "Hooks", "Failures", "Critical"]) p[list] = p[list] || [];
  p.onPath = new Set(p.Critical.map((s) => s.Of));
}
let part = parts[0] || { Resources: [], Waves: [], Hooks: [], Failures: [], Critical: [], Seconds: 0, onPath: new Set() };

// head
const results = { done: "succeeded", failed: "failed", timedOut: "timed out", interrupted: "was interrupted" };
byId("result").textContent = (data.DryRun ? "The dry run " : "The run ") + (results[data.State] || "has no end in these events") + " after " + took(data.Seconds);
byId("result").className = data.State === "done" ? "good" : "bad";
byId("facts").textContent = [new Date(data.Began).toLocaleString(), data.Context && "context " + data.Context, data.Server,
  data.Schedule && "schedule " + data.Schedule, "exit code " + data.ExitCode].filter(Boolean).join(" · ");

// light and dark
const theme = byId("theme");
const setTheme = (dark) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  theme.setAttribute("aria-pressed", String(dark));
};
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
theme.addEventListener("click", () => setTheme(theme.getAttribute("aria-pressed") !== "true"));

// bars on the time line of a part
const percent = (s) => Math.max(0, Math.min(100, part.Seconds > 0 ? s / part.Seconds * 100 : 0));
const bar = (kind, from, to) => {
  if (from === null || to === null || to < from) return null;
  const e = make("i", { class: kind });
  e.style.left = percent(from) + "%";
  e.style.width = Math.max(0, percent(to) - percent(from)) + "%";
  return e;
};
const track = (r) => {
  if (r.Sent === null) return make("div", { class: "track", title: "nothing was sent" });
  const end = r.At === null ? part.Seconds : r.At, middle = r.Applied === null ? end : r.Applied;
  const title = "sent at " + took(r.Sent) + (r.Applied === null ? "" : ", applied at " + took(r.Applied)) + (r.At === null ? "" : ", " + stateText(r) + " at " + took(r.At));
  return make("div", { class: "track", title }, bar("queued", r.Queued, r.Sent), bar(bad(r.State) && r.Applied === null ? "failed" : "applying", r.Sent, middle),
    r.Applied === null ? null : bar(bad(r.State) ? "failed" : "waiting", r.Applied, end));
};

// rows, and their details when they are open
const open = new Set();
const duration = (r) => r.Sent === null || r.At === null ? null : Math.max(0, r.At - r.Sent);
const link = (i, label) => i < 0 ? label : button("link", () => go(i), label);
const details = (r, id, columns) => {
  const list = make("dl");
  const add = (term, ...what) => list.append(make("dt", null, term), make("dd", null, ...what));
  for (const [term, value] of [["layer", r.Layer], ["health", r.Health], ["message", r.Message]]) if (value) add(term, value);
  for (const [term, at] of [["queued", r.Queued], ["sent", r.Sent], ["applied", r.Applied], [stateText(r), r.At]]) if (at !== null) add(term, "at " + took(at));
  for (const need of (r.Needs || []).slice(0, 100)) add("waits for", link(need.Of, need.Label), " to be " + need.Gate + (need.Reason ? " (" + need.Reason + ")" : ""));
  if ((r.Needs || []).length > 100) add("waits for", "and " + (r.Needs.length - 100) + " more");
  for (const note of (r.Notes || []).slice(-50)) add("at " + took(note.At), note.Text);
  return make("tr", { class: "details", id }, make("td", { colspan: columns }, list));
};
const row = (r, id, middle, marked) => {
  const cells = [...middle, make("td", { class: stateClass(r.State) }, stateText(r)), make("td", { class: "number" }, took(duration(r))), make("td", { class: "wide" }, track(r))];
  const name = button("name", () => {
    open.has(r) ? open.delete(r) : open.add(r);
    show();
  }, r.Label);
  const e = make("tr", { class: marked ? "row critical" : "row", id }, make("td", null, name), ...cells);
  const show = () => {
    const shown = open.has(r), below = byId(id + "-more");
    name.setAttribute("aria-expanded", String(shown));
    if (shown && !below) e.after(details(r, id + "-more", cells.length + 1));
    if (!shown && below) below.remove();
  };
  name.setAttribute("aria-expanded", String(open.has(r)));
  return open.has(r) ? [e, details(r, id + "-more", cells.length + 1)] : [e];
};
const go = (i) => {
  open.add(part.Resources[i]);
  for (const id of ["text", "change", "state", "layer"]) byId(id).value = "";
  drawResources(i);
  byId("r" + i).scrollIntoView({ block: "center" });
  byId("r" + i).querySelector(".name").focus();
};

// the table of resources
const layerText = (r) => r.Layer || "(none)";
const matches = (r) => {
  const text = byId("text").value.trim().toLowerCase();
  return [["change", r.Change], ["state", stateText(r)], ["layer", layerText(r)]].every(([id, is]) => !byId(id).value || byId(id).value === is) &&
    (!text || (r.Label + " " + r.Layer + " " + r.Message).toLowerCase().includes(text));
};
const end = (r) => r.At === null ? Infinity : r.At;
const orders = {
  plan: () => 0, took: (a, b) => (duration(b[0]) || 0) - (duration(a[0]) || 0),
  done: (a, b) => end(a[0]) === end(b[0]) ? 0 : end(a[0]) - end(b[0]), name: (a, b) => a[0].Label < b[0].Label ? -1 : 1,
};
const resourcePages = pager(byId("resources").querySelector(".pager"), 100, (found) => {
  byId("table").tBodies[0].replaceChildren(...found.flatMap(([r, i]) => row(r, "r" + i,
    [make("td", { class: "number" }, r.Wave ? String(r.Wave) : ""), make("td", { class: r.Change === "none" ? "soft" : "" }, r.Change)], part.onPath.has(i))));
});
const drawResources = (at) => {
  const found = part.Resources.map((r, i) => [r, i]).filter(([r]) => matches(r)).sort(orders[byId("order").value]);
  resourcePages.show(found, at === undefined ? 0 : found.findIndex(([, i]) => i === at));
  const all = count(part.Resources.length, "resource");
  byId("count").textContent = found.length === part.Resources.length ? all : found.length.toLocaleString("en") + " of " + all;
  for (const b of byId("changes-list").children) b.setAttribute("aria-pressed", String(b.dataset.change === byId("change").value));
};
const hookPages = pager(byId("hooks").querySelector(".pager"), 100, (hooks, from) => {
  byId("hooks").querySelector("tbody").replaceChildren(...hooks.flatMap((r, n) => row(r, "h" + (from + n), [make("td", null, r.Event)], false)));
});
const choices = (id, values) => byId(id).replaceChildren(make("option", { value: "" }, "all"), ...[...new Set(values)].sort().map((v) => make("option", { value: v }, v)));

// what changed: a number for each change, which filters the table
const changes = ["created", "configured", "deleted", "unchanged", "absent", "kept", "none"];
const drawChanges = () => {
  byId("changes").hidden = !part.Resources.length;
  byId("changes-title").textContent = data.DryRun ? "What would change" : "What changed";
  const by = (c) => part.Resources.filter((r) => r.Change === c).length;
  const label = (c) => by(c).toLocaleString("en") + " " + (c === "none" ? "not applied" : c);
  byId("changes-list").replaceChildren(...changes.filter(by).map((c) => {
    const e = button("change " + c, () => {
      byId("change").value = byId("change").value === c ? "" : c;
      drawResources();
    }, label(c));
    e.dataset.change = c;
    return e;
  }));
};

const wavePages = pager(byId("waves").querySelector(".pager"), 50, (waves) => {
  byId("waves").querySelector("tbody").replaceChildren(...waves.map((w) => {
    const ended = w.Ended === null ? part.Seconds : w.Ended;
    return make("tr", { class: "row" }, make("td", { title: w.Name || null }, w.Number + (w.Name ? " " + short(w.Name) : "")), make("td", { class: "number" }, String(w.Resources)),
      make("td", { class: bad(w.State) ? "bad number" : "number" }, w.Opened === null ? "did not open" : took(ended - w.Opened)),
      make("td", { class: "wide" }, make("div", { class: "track" }, bar(bad(w.State) ? "failed" : "waiting", w.Opened, ended))));
  }));
});

// the critical path; of a long one the segments that cost most
let wholePath = false;
const drawCritical = () => {
  const path = part.Critical;
  byId("critical").hidden = !path.length;
  if (!path.length) return;
  const label = (s) => part.Resources[s.Of].Label;
  const byCost = [...path].sort((a, b) => b.Cost - a.Cost);
  let text = "The " + part.Name.toLowerCase() + " took " + took(part.Seconds) + "; " + took(byCost[0].Cost) + " of it is " + label(byCost[0]) + ".";
  const shorter = path.filter((s) => s.Without > 0).sort((a, b) => a.Without - b.Without)[0];
  if (shorter) text += " Without the edge that makes " + label(shorter) + " wait (" + shorter.Why + "), it would have taken about " + took(shorter.Without) + ".";
  byId("critical-text").textContent = text;
  const strip = [], total = path.reduce((sum, s) => sum + s.Cost, 0);
  let rest = 0;
  for (const s of [...path, null]) {
    if (s && s.Cost < total / 200) { rest += s.Cost; continue; }
    if (rest > 0) strip.push(["rest", "shorter segments", rest]);
    rest = 0;
    if (s) strip.push(["", label(s), s.Cost]);
  }
  byId("critical-strip").replaceChildren(...strip.map(([kind, name, cost]) => {
    const e = make("span", { class: kind, title: name + ": " + took(cost) }, cost > total / 10 ? name + " " + took(cost) : "");
    e.style.flex = String(Math.max(cost, 0.001)) + " 1 0";
    return e;
  }));
  const kept = new Set(wholePath ? byCost.slice(0, 1000) : byCost.slice(0, 15));
  byId("critical-list").replaceChildren(...path.map((s, n) => !kept.has(s) ? null : make("li", { value: n + 1 }, link(s.Of, label(s)), " " + took(s.Cost),
    make("span", { class: "soft" }, (n ? s.Why ? " after the one before: " + s.Why : " after the one before" : "") + (s.Without > 0 ? "; without this edge about " + took(s.Without) : "")))).filter(Boolean));
  byId("critical-more").hidden = path.length <= 15;
  byId("critical-more").textContent = wholePath ? "Show the 15 longest segments" : "Show " + (path.length > 1000 ? "1,000 of " : "all ") + path.length.toLocaleString("en") + " segments";
};
byId("critical-more").addEventListener("click", () => { wholePath = !wholePath; drawCritical(); });

const some = (list, most) => list.slice(0, most).join(", ") + (list.length > most ? " and " + (list.length - most) + " more" : "");
const failurePages = pager(byId("failures").querySelector(".pager"), 20, (failures) => {
  byId("failures").querySelector(".list").replaceChildren(...failures.map((f) => make("div", { class: "failure" },
    make("p", null, f.Message),
    ...(f.Findings || []).flatMap((x) => [make("p", { class: "soft" }, (x.About ? x.About + ": " : "") + x.Text),
      x.Log && x.Log.length ? make("pre", { tabindex: "0", role: "region", "aria-label": "log" }, x.Log.join("\n")) : null]),
    f.Blocks && f.Blocks.length ? make("p", { class: "soft" }, "not applied because of it: " + some(f.Blocks, 20)) : null,
    f.Of >= 0 ? link(f.Of, "Show " + part.Resources[f.Of].Label) : null)));
});

// the graph: the drawing of the plan, in which a box lists its resources
const drawGraph = () => {
  const area = byId("graph-area"), about = byId("graph-about");
  byId("graph").hidden = !part.Boxes;
  about.replaceChildren();
  area.replaceChildren();
  if (!part.Boxes) return;
  area.append(document.querySelectorAll("template.graph")[parts.indexOf(part)].content.cloneNode(true));
  for (const gate of area.querySelectorAll(".gate")) gate.classList.toggle("open", part.Waves.some((w) => "gate" + w.Number === gate.id && w.Opened !== null));
  for (const box of area.querySelectorAll(".box")) {
    const members = part.Boxes[Number(box.id.slice(3))], states = members.map((i) => part.Resources[i].State);
    box.classList.add(states.some(bad) ? "bad" : states.every(good) ? "good" : "soft");
    box.classList.toggle("critical", members.some((i) => part.onPath.has(i)));
    const list = () => about.replaceChildren(...members.slice(0, 12).flatMap((i, n) => [n ? "; " : "", link(i, part.Resources[i].Label), ", " + stateText(part.Resources[i])]),
      members.length > 12 ? " and " + (members.length - 12) + " more" : "");
    const light = (e) => area.querySelectorAll("path." + box.id).forEach((a) => a.classList.toggle("hot", e.type === "pointerenter" || e.type === "focus"));
    for (const [name, value] of [["role", "button"], ["tabindex", "0"]]) box.setAttribute(name, value);
    for (const kind of ["pointerenter", "pointerleave", "focus", "blur"]) box.addEventListener(kind, light);
    box.addEventListener("click", list);
    box.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); list(); } });
  }
};
const draw = () => {
  open.clear();
  wholePath = false;
  byId("text").value = "";
  for (const id of ["failures", "hooks"]) byId(id).hidden = !part[id === "hooks" ? "Hooks" : "Failures"].length;
  byId("waves").hidden = !part.Waves.some((w) => w.Opened !== null);
  byId("half").textContent = took(part.Seconds / 2);
  byId("whole").textContent = took(part.Seconds);
  failurePages.show(part.Failures);
  drawCritical();
  wavePages.show(part.Waves);
  choices("change", part.Resources.map((r) => r.Change));
  choices("state", part.Resources.map(stateText));
  choices("layer", part.Resources.map(layerText));
  drawChanges();
  drawResources();
  hookPages.show(part.Hooks);
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
for (const id of ["text", "change", "state", "layer", "order"]) byId(id).addEventListener("input", () => drawResources());
draw();
