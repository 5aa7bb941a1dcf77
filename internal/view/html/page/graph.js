// The graph: a row of boxes for each wave, which folds as the window needs it, and arrows
// over them. Resources of a wave that have the same layer, or without one the same kind,
// share a box until it is opened, unless there are few.
const most = { single: 40, members: 60, arrows: 400, named: 12 };

const graph = (go) => {
  const area = byId("graph-area"), svg = byId("graph-edges"), about = byId("graph-about");
  let part, boxes, boxOf, arrows = [], chosen = -1, dependents;
  const opened = new Set();

  // group puts the resources of a wave into boxes.
  const group = () => {
    boxes = new Map();
    const few = part.Resources.length <= most.single;
    part.Resources.forEach((r, i) => {
      const key = r.Wave + "\n" + (few ? i : r.Layer ? "layer " + r.Layer : "kind " + r.Label.split(" ")[0]);
      if (!boxes.has(key)) boxes.set(key, { key, wave: r.Wave, title: r.Layer || r.Label.split(" ")[0], members: [] });
      boxes.get(key).members.push(i);
    });
    dependents = part.Resources.map(() => []);
    part.Resources.forEach((r, i) => (r.Needs || []).forEach((n) => { if (n.Of >= 0) dependents[n.Of].push(i); }));
  };
  const worst = (members) => {
    const states = members.map((i) => part.Resources[i].State);
    return states.some(bad) ? "bad" : states.every(good) ? "good" : "soft";
  };
  const critical = (members) => members.some((i) => part.onPath.has(i)) ? " critical" : "";

  const resource = (i) => {
    const r = part.Resources[i];
    const e = button("box " + stateClass(r.State) + critical([i]), () => choose(i), r.Label);
    e.setAttribute("aria-pressed", String(chosen === i));
    e.dataset.of = i;
    boxOf.set(i, e);
    return e;
  };
  const element = (b) => {
    if (b.members.length === 1) return resource(b.members[0]);
    const isOpen = opened.has(b.key);
    const head = button("box group " + worst(b.members) + critical(b.members), () => {
      isOpen ? opened.delete(b.key) : opened.add(b.key);
      draw();
      const again = [...area.querySelectorAll(".group")].find((e) => e.dataset.key === b.key);
      if (again) again.focus();
    }, b.title + ": " + count(b.members.length, "resource"));
    head.dataset.key = b.key;
    head.setAttribute("aria-expanded", String(isOpen));
    b.members.forEach((i) => boxOf.set(i, head));
    if (!isOpen) return head;
    const inside = b.members.slice(0, most.members).map(resource);
    const left = b.members.length - inside.length;
    return make("div", { class: "opened" }, head, ...inside, left ? make("span", { class: "soft" }, "and " + left + " more") : null);
  };

  const draw = () => rows.show([...new Set([...boxes.values()].map((b) => b.wave))].sort((a, b) => a - b), part.at);
  const rows = pager(byId("graph").querySelector(".pager"), 30, (waves, from) => {
    part.at = from;
    boxOf = new Map();
    const by = new Map(waves.map((n) => [n, []]));
    for (const b of boxes.values()) if (by.has(b.wave)) by.get(b.wave).push(b);
    byId("graph-waves").replaceChildren(...waves.map((n) => make("li", null,
      make("h3", null, "Wave " + n + (part.waveNames.get(n) ? " · " + short(part.waveNames.get(n)) : "")),
      make("div", { class: "boxes" }, ...by.get(n).slice(0, 200).map(element)))));
    connect();
  });

  // connect finds the arrows between what is shown; those that a longer way implies, and
  // those from Namespaces, are left out.
  const connect = () => {
    const next = new Map();
    part.Resources.forEach((r, i) => (r.Needs || []).forEach((n) => {
      const from = boxOf.get(n.Of), to = boxOf.get(i);
      if (!from || !to || from === to || n.Label.startsWith("Namespace ")) return;
      if (!next.has(from)) next.set(from, new Set());
      next.get(from).add(to);
    }));
    const reaches = (from, to) => {
      const seen = new Set(), left = [...(next.get(from) || [])];
      for (let e = left.pop(); e; e = left.pop()) {
        if (e === to) return true;
        if (seen.has(e)) continue;
        seen.add(e);
        left.push(...(next.get(e) || []));
      }
      return false;
    };
    arrows = [];
    for (const [from, targets] of next)
      for (const to of targets) {
        if (arrows.length >= most.arrows) break;
        if (targets.size > 50 || ![...targets].some((other) => other !== to && reaches(other, to))) arrows.push({ from, to });
      }
    place();
  };

  // place draws the arrows where the boxes are now.
  const place = () => {
    const origin = area.getBoundingClientRect();
    svg.classList.toggle("many", arrows.length > most.arrows / 5);
    svg.setAttribute("width", area.scrollWidth);
    svg.setAttribute("height", area.scrollHeight);
    const node = (name, attributes) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
      return e;
    };
    svg.replaceChildren(...arrows.flatMap((a) => {
      const f = a.from.getBoundingClientRect(), t = a.to.getBoundingClientRect();
      const x1 = f.left + f.width / 2 - origin.left, x2 = t.left + t.width / 2 - origin.left;
      const down = t.top >= f.bottom;
      const y1 = (down ? f.bottom : f.top) - origin.top, y2 = t.top - origin.top - 3;
      const bend = down ? Math.max(10, (y2 - y1) / 2) : -24;
      a.line = node("path", { d: `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - Math.abs(bend)} ${x2} ${y2}` });
      a.tip = node("path", { class: "tip", d: `M${x2 - 4} ${y2 - 5} L${x2} ${y2 + 2} L${x2 + 4} ${y2 - 5} Z` });
      return [a.line, a.tip];
    }));
    light();
  };

  // light stresses the arrows of the box that is pointed at, or else of the chosen one.
  const light = (at) => {
    const e = at || boxOf.get(chosen);
    for (const a of arrows) for (const p of [a.line, a.tip]) p.classList.toggle("hot", e !== undefined && (a.from === e || a.to === e));
  };

  const names = (list) => {
    const shown = list.slice(0, most.named).flatMap((i, n) => [n ? ", " : "", button("link", () => choose(i, true), part.Resources[i].Label)]);
    return list.length > most.named ? [...shown, " and " + (list.length - most.named) + " more"] : shown;
  };
  const choose = (i, focus) => {
    chosen = i;
    if (!boxOf.has(i) || boxOf.get(i).dataset.of !== String(i)) {
      const b = [...boxes.values()].find((b) => b.members.includes(i));
      opened.add(b.key);
      part.at = [...new Set([...boxes.values()].map((o) => o.wave))].sort((a, b) => a - b).indexOf(b.wave);
      draw();
    }
    for (const [j, e] of boxOf) if (e.dataset.of !== undefined) e.setAttribute("aria-pressed", String(j === i));
    const r = part.Resources[i], needs = [...new Set((r.Needs || []).map((n) => n.Of).filter((n) => n >= 0))];
    about.replaceChildren(button("link", () => go(i), r.Label), ", " + stateText(r) + (r.Layer ? ", layer " + r.Layer : "") + ", waits for ",
      ...(needs.length ? names(needs) : ["nothing in this plan"]), "; waiting for it: ", ...(dependents[i].length ? names(dependents[i]) : ["nothing"]), ".");
    light();
    if (focus && boxOf.get(i)) { boxOf.get(i).scrollIntoView({ block: "center" }); boxOf.get(i).focus(); }
  };

  const pointed = (e) => light(e.target.closest(".box") || undefined);
  for (const kind of ["pointerover", "focusin"]) area.addEventListener(kind, pointed);
  for (const kind of ["pointerleave", "focusout"]) area.addEventListener(kind, () => light());
  new ResizeObserver(() => { if (boxOf) place(); }).observe(area);

  return (p) => {
    part = p;
    part.at = part.at || 0;
    chosen = -1;
    opened.clear();
    about.replaceChildren();
    byId("graph").hidden = part.Resources.length < 2;
    if (byId("graph").hidden) return;
    group();
    draw();
  };
};
