// Package terminal shows a run on a terminal.
//
// A View computes the display: events go in, lines for a given width and height come out.
// It does no I/O and reads no clock; a Screen draws the lines.
//
//	v := terminal.NewView(track.New(plan, time.Now()), terminal.ViewOptions{WaveTimeout: 5 * time.Minute})
//	above := v.Take(event)               // permanent lines, often none
//	frame := v.Frame(80, 24, time.Now()) // lines to redraw
//	above = v.End()
//
// A Screen draws on a terminal that also shows other output: permanent lines, and below
// them a frame that is redrawn.
//
//	screen := terminal.NewScreen(os.Stderr, true)
//	err := screen.Draw("done\n", []terminal.Line{{Text: "wave 2/5"}}, 80, 24)
package terminal
