// Package drawing shows a plan: as boxes and arrows in SVG, DOT and Mermaid, as JSON, and in words.
//
// It draws a plan: columns from left to right, one or more for each
// wave, with boxes, a gate before each wave, and arrows that never point back. What is
// too wide for a page continues below, as lines of text do.
//
//	err := drawing.WriteSVG(w, drawing.Draw(plan))
//
// It does not need Graphviz, because a plan already has layers: what remains is
// to order the boxes of each column so that few arrows cross.
//
// It also prints a plan for programs, as JSON, and what it knows about one
// resource for people.
//
//	err := drawing.PlanJSON(os.Stdout, plan)
//	known, err := drawing.Explain(os.Stdout, plan, id)
//
// It also prepares a plan for drawing, in boxes and arrows, and writes it in
// the languages of Graphviz and Mermaid.
//
//	err := drawing.Draw(plan).WriteMermaid(os.Stdout)
package drawing
