// Package drawing shows a plan: as boxes and arrows in SVG, DOT and Mermaid, as JSON, and in words.
//
// A drawing has columns from left to right, one or more for each wave, with boxes, a gate
// before each wave, and arrows that never point back.
//
//	err := drawing.WriteSVG(w, drawing.Draw(plan))
//
// It does not need Graphviz, because a plan already has layers: it only has to order the
// boxes of each column so that few arrows cross.
//
// A plan is also printed as JSON for programs, and one resource of it in words for people.
//
//	err := drawing.PlanJSON(os.Stdout, plan)
//	known, err := drawing.Explain(os.Stdout, plan, id)
//
// A drawing is also written in the languages of Graphviz and Mermaid.
//
//	err := drawing.Draw(plan).WriteMermaid(os.Stdout)
package drawing
