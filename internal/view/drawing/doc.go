// Package drawing prepares a plan for drawing, in boxes and arrows, and writes it in
// the languages of Graphviz and Mermaid.
//
//	err := drawing.Draw(plan).WriteMermaid(os.Stdout)
package drawing
