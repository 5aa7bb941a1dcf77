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
    box.classList.toggle("critical", members.some((i) => part.onPath.has(part.Resources[i])));
    const list = () => about.replaceChildren(...members.slice(0, 12).flatMap((i, n) => [n ? "; " : "", link(i, part.Resources[i].Label), ", " + stateText(part.Resources[i])]),
      members.length > 12 ? " and " + (members.length - 12) + " more" : "");
    const light = (e) => area.querySelectorAll("path." + box.id).forEach((a) => a.classList.toggle("hot", e.type === "pointerenter" || e.type === "focus"));
    for (const [name, value] of [["role", "button"], ["tabindex", "0"]]) box.setAttribute(name, value);
    for (const kind of ["pointerenter", "pointerleave", "focus", "blur"]) box.addEventListener(kind, light);
    box.addEventListener("click", list);
    box.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); list(); } });
  }
};
