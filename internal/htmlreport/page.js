"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes, ...children) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "class") e.className = value;
      else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) e.setAttribute(name, value);
    }
    for (const c of children) if (c !== null && c !== undefined) e.append(c);
    return e;
  };
  const took = (s) => {
    if (s === null || s === undefined) return "";
    if (s < 1) return Math.round(s * 1000) + "ms";
    if (s < 60) return (Math.round(s * 10) / 10) + "s";
    const whole = Math.round(s);
    return Math.floor(whole / 60) + "m" + String(whole % 60).padStart(2, "0") + "s";
  };
  const count = (n, noun) => n + " " + noun + (n === 1 ? "" : "s");
  const bad = (state) => state === "failed" || state === "timedOut";
  const good = (state) => ["ready", "applied", "deleted", "done"].includes(state);
  const words = { timedOut: "timed out", notStarted: "not started", "": "not reached" };
  const stateText = (r) => {
    let text = words[r.State] || r.State || "not reached";
    if (r.Unchanged) text = "unchanged";
    return r.Assumed ? text + " (assumed)" : text;
  };
  const stateClass = (state) => bad(state) ? "bad" : good(state) ? "good" : "soft";
  const duration = (r) => r.Sent === null || r.At === null ? null : Math.max(0, r.At - r.Sent);

  let part = data.Parts[0] || { Resources: [], Waves: [], Hooks: [], Failures: [], Critical: [], Seconds: 0 };

  // head
  const results = { done: "is done", failed: "failed", timedOut: "timed out", interrupted: "was interrupted" };
  byId("result").textContent = (data.DryRun ? "The dry run " : "The run ") + (results[data.State] || "has no end in these events") +
    " after " + took(data.Seconds);
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
    const end = r.At === null ? (r.Sent === null ? null : part.Seconds) : r.At;
    const middle = r.Applied === null ? end : r.Applied;
    const e = make("div", { class: "track" });
    if (r.Sent !== null) e.append(...[bar("queued", r.Queued, r.Sent), bar(bad(r.State) && r.Applied === null ? "failed" : "applying", r.Sent, middle),
      r.Applied === null ? null : bar(bad(r.State) ? "failed" : "waiting", r.Applied, end)].filter(Boolean));
    e.title = r.Sent === null ? "nothing was sent" : "sent at " + took(r.Sent) + (r.Applied === null ? "" : ", applied at " + took(r.Applied)) +
      (r.At === null ? "" : ", " + stateText(r) + " at " + took(r.At));
    return e;
  };

  // one row, and its details when it is open
  const open = new Set();
  const go = (i) => {
    if (i < 0) return;
    open.add(part.Resources[i]);
    byId("text").value = byId("state").value = byId("layer").value = "";
    drawResources();
    const e = document.getElementById("r" + i);
    if (e) { e.scrollIntoView({ block: "center" }); e.querySelector(".name").focus(); }
  };
  const link = (i, label) => i < 0 ? document.createTextNode(label) : make("button", { type: "button", class: "link", onclick: () => go(i) }, label);
  const details = (r) => {
    const list = make("dl");
    const add = (term, ...what) => list.append(make("dt", null, term), make("dd", null, ...what));
    if (r.Layer) add("layer", r.Layer);
    if (r.Health) add("health", r.Health);
    if (r.Message) add("message", r.Message);
    if (r.Queued !== null) add("queued", took(r.Queued));
    if (r.Sent !== null) add("sent", took(r.Sent));
    if (r.Applied !== null) add("applied", took(r.Applied));
    if (r.At !== null) add(stateText(r), took(r.At));
    for (const need of r.Needs || []) add("waits for", link(need.Of, need.Label), " to be " + need.Gate, need.Reason ? " (" + need.Reason + ")" : "");
    for (const note of r.Notes || []) add("at " + took(note.At), note.Text);
    return make("tr", { class: "details" }, make("td", { colspan: 5 }, list));
  };
  const rows = (r, i, second, redraw, critical) => {
    const shown = open.has(r);
    const name = make("button", { type: "button", class: "name", "aria-expanded": String(shown), onclick: () => {
      open.has(r) ? open.delete(r) : open.add(r);
      redraw();
      const e = document.getElementById((i < 0 ? "" : "r") + i);
      if (e) e.querySelector(".name").focus();
    } }, r.Label);
    const row = make("tr", { class: critical ? "row critical" : "row", id: i < 0 ? null : "r" + i },
      make("td", null, name), make("td", null, second), make("td", { class: stateClass(r.State) }, stateText(r)),
      make("td", null, took(duration(r))), make("td", { class: "wide" }, track(r)));
    return shown ? [row, details(r)] : [row];
  };

  const matches = (r) => {
    const text = byId("text").value.trim().toLowerCase(), state = byId("state").value, layer = byId("layer").value;
    return (!state || stateText(r) === state) && (!layer || (r.Layer || "(none)") === layer) &&
      (!text || (r.Label + " " + r.Layer + " " + r.Message + " " + r.State).toLowerCase().includes(text));
  };
  const orders = {
    plan: () => 0, took: (a, b) => (duration(b[0]) || 0) - (duration(a[0]) || 0),
    done: (a, b) => (a[0].At === null ? Infinity : a[0].At) - (b[0].At === null ? Infinity : b[0].At), name: (a, b) => a[0].Label < b[0].Label ? -1 : 1,
  };
  const drawResources = () => {
    const critical = new Set((part.Critical || []).map((s) => s.Of));
    const found = (part.Resources || []).map((r, i) => [r, i]).filter(([r]) => matches(r));
    found.sort(orders[byId("order").value]);
    byId("table").tBodies[0].replaceChildren(...found.flatMap(([r, i]) => rows(r, i, r.Wave ? String(r.Wave) : "", drawResources, critical.has(i))));
    byId("count").textContent = found.length === (part.Resources || []).length ? count(found.length, "resource") : found.length + " of " + count(part.Resources.length, "resource");
  };
  const drawHooks = () => {
    byId("hooks").hidden = !(part.Hooks || []).length;
    byId("hooks").querySelector("tbody").replaceChildren(...(part.Hooks || []).flatMap((r) => rows(r, -1, r.Event, drawHooks, false)));
  };
  const choices = (id, values, all) => byId(id).replaceChildren(make("option", { value: "" }, all), ...[...new Set(values)].sort().map((v) => make("option", { value: v }, v)));

  const drawWaves = () => {
    byId("waves").hidden = !(part.Waves || []).some((w) => w.Opened !== null);
    byId("waves").querySelector("tbody").replaceChildren(...(part.Waves || []).map((w) => {
      const members = part.Resources.filter((r) => r.Wave === w.Number).length;
      const end = w.Ended === null ? (w.Opened === null ? null : part.Seconds) : w.Ended;
      const e = make("div", { class: "track" });
      const b = bar(bad(w.State) ? "failed" : "waiting", w.Opened, end);
      if (b) e.append(b);
      return make("tr", { class: "row" }, make("td", null, w.Number + (w.Name ? " " + w.Name : "")), make("td", null, String(members)),
        make("td", null, w.Opened === null ? "did not open" : took(end - w.Opened)), make("td", { class: "wide" }, e));
    }));
  };

  const drawCritical = () => {
    const path = part.Critical || [];
    byId("critical").hidden = !path.length;
    if (!path.length) return;
    const longest = path.reduce((a, b) => b.Cost > a.Cost ? b : a);
    let text = "The run took " + took(part.Seconds) + "; " + took(longest.Cost) + " of it is " + part.Resources[longest.Of].Label + ".";
    const shorter = path.filter((s) => s.Without > 0).sort((a, b) => a.Without - b.Without)[0];
    if (shorter) text += " Without the edge that makes " + part.Resources[shorter.Of].Label + " wait (" + shorter.Why + "), it would have taken about " + took(shorter.Without) + ".";
    byId("critical-text").textContent = text;
    byId("critical-strip").replaceChildren(...path.map((s) => {
      const e = make("span", { title: part.Resources[s.Of].Label + ": " + took(s.Cost) });
      e.style.flex = String(Math.max(s.Cost, 0.001));
      return e;
    }));
    byId("critical-list").replaceChildren(...path.map((s) => make("li", null, link(s.Of, part.Resources[s.Of].Label), " " + took(s.Cost),
      make("span", { class: "soft" }, s.Why ? " after the one before: " + s.Why : ""),
      s.Without > 0 ? make("span", { class: "soft" }, "; without this edge about " + took(s.Without)) : null)));
  };

  const drawFailures = () => {
    const section = byId("failures");
    section.hidden = !(part.Failures || []).length;
    section.replaceChildren(section.firstElementChild, ...(part.Failures || []).map((f) => make("div", { class: "failure" },
      make("p", null, f.Message),
      ...(f.Findings || []).flatMap((x) => [make("p", { class: "soft" }, (x.About ? x.About + ": " : "") + x.Text), x.Log && x.Log.length ? make("pre", { tabindex: "0" }, x.Log.join("\n")) : null]),
      f.Blocks && f.Blocks.length ? make("p", { class: "soft" }, "not applied because of it: " + f.Blocks.join(", ")) : null,
      f.Of >= 0 ? link(f.Of, "show the resource") : null)));
  };

  const draw = () => {
    drawFailures(); drawCritical(); drawWaves();
    choices("state", (part.Resources || []).map(stateText), "all");
    choices("layer", (part.Resources || []).map((r) => r.Layer || "(none)"), "all");
    drawResources(); drawHooks();
  };
  byId("warnings").hidden = !(data.Warnings || []).length;
  byId("warnings").querySelector("ul").replaceChildren(...(data.Warnings || []).map((w) => make("li", null, w)));
  if (data.Parts.length > 1) {
    const nav = byId("parts");
    nav.hidden = false;
    nav.replaceChildren(...data.Parts.map((p, n) => make("button", { type: "button", "aria-current": String(n === 0), onclick: (e) => {
      part = p;
      for (const b of nav.children) b.setAttribute("aria-current", String(b === e.currentTarget));
      open.clear();
      draw();
    } }, p.Name)));
  }
  byId("filter").addEventListener("submit", (e) => e.preventDefault());
  for (const id of ["text", "state", "layer", "order"]) byId(id).addEventListener("input", drawResources);
  draw();
})();
