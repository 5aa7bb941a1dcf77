package terminal

import (
	"os"
	"strings"
)

// Mood classifies a line; terminals show it as a colour.
type Mood int

// Values of Mood.
const (
	Neutral Mood = iota // no colour
	Bad                 // a failure
	Busy                // in progress
	Faint               // less important
	Good                // finished
)

// colours returns the codes of the moods. The yellow of the 16 colours, which every theme
// chooses anew, is illegible on most light ones: there, work in progress has no colour.
func colours(has256 bool) map[Mood]string {
	if has256 {
		return map[Mood]string{Bad: "38;5;160", Busy: "38;5;130", Faint: "2", Good: "38;5;28"}
	}
	return map[Mood]string{Bad: "31", Faint: "2", Good: "32"}
}

// has256 reports whether the terminal surely has 256 colours.
func has256() bool {
	depth := os.Getenv("COLORTERM")
	return depth == "truecolor" || depth == "24bit" || strings.Contains(os.Getenv("TERM"), "256color")
}
