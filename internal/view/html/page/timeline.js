// The rows of resources and hooks, in groups: what ran before the first wave, each wave, and
// what ran after the last.
const open = new Set(); // rows whose details are shown
const folds = new Map(); // groups that were opened or closed, by key
const limits = new Map(); // the number of rows of groups that show more, by key
const rowsShown = 25, rowsOpen = 100, groupsShown = 50;

const duration = (r) => r.Sent === null || r.At === null ? null : Math.max(0, r.At - r.Sent);
const link = (i, label) => i < 0 ? label : button("link", () => go(i), label);
const track = (r, group) => {
  const band = group.title ? bar("band", group.from, group.to) : null;
  if (r.Sent === null) return make("div", { class: "track", title: "nothing was sent" }, band);
  const end = r.At === null ? part.Seconds : r.At, middle = r.Applied === null ? end : r.Applied;
  const title = "sent at " + took(r.Sent) + (r.Applied === null ? "" : ", applied at " + took(r.Applied)) + (r.At === null ? "" : ", " + stateText(r) + " at " + took(r.At));
  return make("div", { class: "track", title }, band, bar("queued", r.Queued, r.Sent), bar(bad(r.State) && r.Applied === null ? "failed" : "applying", r.Sent, middle),
    r.Applied === null ? null : bar(bad(r.State) ? "failed" : "waiting", r.Applied, end));
};
const details = (r, id) => {
  const list = make("dl");
  const add = (term, ...what) => list.append(make("dt", null, term), make("dd", null, ...what));
  for (const [term, value] of [["wave", r.Wave && part.Waves[r.Wave - 1] && waveTitle(part.Waves[r.Wave - 1])], ["layer", r.Layer], ["health", r.Health], ["message", r.Message]]) if (value) add(term, value);
  for (const [term, at] of [["queued", r.Queued], ["sent", r.Sent], ["applied", r.Applied], [stateText(r), r.At]]) if (at !== null) add(term, "at " + took(at));
  for (const need of (r.Needs || []).slice(0, 100)) add("waits for", link(need.Of, need.Label), " to be " + need.Gate + (need.Reason ? " (" + need.Reason + ")" : ""));
  if ((r.Needs || []).length > 100) add("waits for", "and " + (r.Needs.length - 100) + " more");
  for (const note of (r.Notes || []).slice(-50)) add("at " + took(note.At), note.Text);
  return make("tr", { class: "details", id }, make("td", { colspan: 5 }, list));
};
const row = (r, id, group) => {
  const name = button("name", () => {
    open.has(r) ? open.delete(r) : open.add(r);
    update();
  }, r.Label);
  const e = make("tr", { class: part.onPath.has(r) ? "row critical" : "row", id }, make("td", null, name), make("td", { class: r.Change === "none" ? "soft" : "" }, r.Event ? "" : changeText(r.Change)),
    make("td", { class: stateClass(r.State) }, stateText(r)), make("td", { class: "number" }, took(duration(r))), make("td", { class: "wide" }, track(r, group)));
  const update = () => {
    const isOpen = open.has(r), below = byId(id + "-more");
    name.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && !below) e.after(details(r, id + "-more"));
    if (!isOpen && below) below.remove();
  };
  name.setAttribute("aria-expanded", String(open.has(r)));
  return open.has(r) ? [e, details(r, id + "-more")] : [e];
};

// the groups of a part, in the order of their times
const waveTitle = (w) => "wave " + w.Number + "/" + part.Waves.length + (w.Name ? " " + short(w.Name) : "");
const hookGroups = () => {
  const groups = [];
  part.Hooks.forEach((r, n) => {
    if (!groups.length || groups.at(-1).event !== r.Event) groups.push({ key: "hooks " + n, event: r.Event, title: r.Event + " hooks", rows: [] });
    groups.at(-1).rows.push([r, "h" + n]);
  });
  return groups;
};
const waveGroups = () => {
  const groups = part.Waves.map((w) => ({ key: "wave " + w.Number, title: waveTitle(w), from: w.Opened, to: w.Ended, isWave: true, rows: [] }));
  part.Resources.forEach((r, i) => {
    const n = Math.max(0, r.Wave - 1);
    while (groups.length <= n) groups.push({ key: "wave " + (groups.length + 1), title: "wave " + (groups.length + 1), from: null, to: null, isWave: true, rows: [] });
    groups[n].rows.push([r, "r" + i]);
  });
  return groups;
};
const complete = (group) => {
  const sent = group.rows.map(([r]) => r).filter((r) => r.Sent !== null);
  if (group.from === null || group.from === undefined) group.from = sent.length ? Math.min(...sent.map((r) => r.Sent)) : null;
  if (group.to === null || group.to === undefined) group.to = group.from === null ? null : Math.max(...sent.map((r) => r.At === null ? part.Seconds : r.At), group.from);
  group.failed = group.rows.filter(([r]) => bad(r.State)).length;
  return group;
};
const allGroups = () => {
  const groups = waveGroups().map(complete);
  for (const hooks of hookGroups().map(complete)) {
    const at = groups.findIndex((g) => g.isWave && (g.from === null || g.from > hooks.from));
    groups.splice(at < 0 ? groups.length : at, 0, hooks);
  }
  const preparation = part.Critical.find((s) => s.Of < 0);
  if (preparation) groups.unshift({ key: "preparation", title: "preparation", from: 0, to: preparation.Cost, failed: 0, rows: [] });
  return groups;
};

// what matches the filter, and its order
const layerText = (r) => r.Layer || "(none)";
const filtered = () => ["text", "change", "state", "layer"].some((id) => byId(id).value.trim());
const matches = (r) => {
  const text = byId("text").value.trim().toLowerCase();
  return [["change", r.Event ? "" : r.Change], ["state", stateText(r)], ["layer", r.Event ? "" : layerText(r)]].every(([id, is]) => !byId(id).value || byId(id).value === is) &&
    (!text || (r.Label + " " + (r.Layer || r.Event) + " " + r.Message).toLowerCase().includes(text));
};
const end = (r) => r.At === null ? Infinity : r.At;
const slowest = (a, b) => bad(b[0].State) - bad(a[0].State) || (duration(b[0]) || 0) - (duration(a[0]) || 0);
const orders = {
  wave: slowest, took: slowest,
  done: (a, b) => end(a[0]) === end(b[0]) ? 0 : end(a[0]) - end(b[0]), name: (a, b) => a[0].Label < b[0].Label ? -1 : 1,
};

// A group shows its first rows. What was unchanged is folded, unless it is asked for.
const groupRows = (group) => {
  const idle = ([r]) => r.Change === "unchanged" && good(r.State) && !filtered() && group.title && !folds.get(group.key + " unchanged");
  const quiet = group.rows.filter(idle), rows = quiet.length > 1 ? group.rows.filter((r) => !idle(r)) : group.rows;
  const limit = limits.get(group.key) || (group.title ? rowsShown : rowsOpen);
  const out = rows.slice(0, limit).flatMap(([r, id]) => row(r, id, group));
  const more = (text, click) => out.push(make("tr", { class: "more" }, make("td", { colspan: 5 }, button("link", () => { click(); drawResources(); }, text))));
  if (rows.length > limit) more("Show " + (rows.length - limit > rowsOpen ? rowsOpen + " of " : "") + (rows.length - limit).toLocaleString("en") + " more", () => limits.set(group.key, limit + rowsOpen));
  if (quiet.length > 1) more(quiet.length.toLocaleString("en") + " unchanged", () => folds.set(group.key + " unchanged", true));
  return out;
};
const summary = (group) => {
  if (!group.isWave) return group.rows.length ? count(group.rows.length, "hook") : "";
  return changes.map((c) => [c, group.rows.filter(([r]) => r.Change === c).length]).filter(([, n]) => n).map(([c, n]) => n.toLocaleString("en") + " " + changeText(c)).join(", ");
};
const header = (group, isOpen) => {
  const title = group.rows.length ? button("name", () => {
    folds.set(group.key, !isOpen);
    drawResources();
    byId(group.key.replace(" ", "-")).querySelector("button").focus();
  }, group.title) : make("span", { class: "name" }, group.title);
  if (group.rows.length) title.setAttribute("aria-expanded", String(isOpen));
  const state = group.failed ? group.failed + " failed" : group.from === null ? "did not open" : "";
  const line = make("div", { class: "track", title: "zoom in on " + group.title }, bar("band", group.from, group.to));
  line.addEventListener("click", () => { if (group.from !== null) show(group.from - (group.to - group.from) * 0.05, (group.to - group.from) * 1.1); });
  return make("tr", { class: "group", id: group.key.replace(" ", "-") }, make("td", null, title), make("td", { class: "soft", colspan: 2, title: summary(group) || null }, make("span", { class: "bad" }, state), state && group.rows.length ? "; " : "", summary(group)),
    make("td", { class: "number" }, group.from === null ? "" : took(group.to - group.from)), make("td", { class: "wide" }, line));
};

// Groups are open until there are many rows; if something failed, the groups in which nothing did
// are closed.
const mayOpen = (groups) => {
  let left = rowsOpen;
  const failed = groups.some((g) => g.failed);
  return (group) => {
    if (folds.has(group.key)) return folds.get(group.key);
    const takes = Math.min(rowsShown, group.rows.length);
    if (!filtered() && failed && !group.failed || left < takes) return false;
    left -= takes;
    return true;
  };
};
const groupPages = pager(byId("resources").querySelector(".pager"), groupsShown, (groups) => {
  const isOpen = mayOpen(groups);
  byId("table").tBodies[0].replaceChildren(...groups.flatMap((g) => {
    if (!g.title) return groupRows(g);
    const shows = isOpen(g);
    return [header(g, shows), ...(shows ? groupRows(g) : [])];
  }));
});
let groupsNow = [];
const drawResources = (at) => {
  const byWave = byId("order").value === "wave", all = allGroups();
  const rows = all.flatMap((g) => g.rows).filter(([r]) => matches(r)), resources = rows.filter(([r]) => !r.Event).length;
  groupsNow = byWave ? all.map((g) => ({ ...g, rows: g.rows.filter(([r]) => matches(r)) })).filter((g) => g.rows.length || !filtered() && g.from !== null) : [{ key: "all", title: "", rows }];
  for (const g of groupsNow) g.rows.sort(orders[byId("order").value]);
  groupPages.show(groupsNow, at === undefined ? groupPages.from() : at);
  const total = count(part.Resources.length, "resource");
  byId("count").textContent = resources === part.Resources.length ? total : resources.toLocaleString("en") + " of " + total;
  for (const b of byId("changes-list").children) b.setAttribute("aria-pressed", String(b.dataset.change === byId("change").value));
};

// reveal shows a row with its details, wherever it is.
const reveal = (r, id) => {
  open.add(r);
  for (const field of ["text", "change", "state", "layer"]) byId(field).value = "";
  byId("order").value = "wave";
  drawResources();
  const at = groupsNow.findIndex((g) => g.rows.some(([one]) => one === r)), { key, rows } = groupsNow[at];
  folds.set(key, true);
  if (r.Change === "unchanged") folds.set(key + " unchanged", true);
  limits.set(key, Math.max(limits.get(key) || rowsShown, rows.findIndex(([one]) => one === r) + 1));
  drawResources(at);
  byId(id).scrollIntoView({ block: "center" });
  byId(id).querySelector(".name").focus();
};
const go = (i) => reveal(part.Resources[i], "r" + i);
