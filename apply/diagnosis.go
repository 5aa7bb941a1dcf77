package apply

import (
	"fmt"
	"strings"
	"time"

	"github.com/ordapply/ordapply/object"
)

// Diagnosis is what the cluster tells of a resource that did not become ready,
// for whoever has to act on it.
type Diagnosis struct {
	Of object.ID
	// Findings tell of the cause: the resource's own conditions first, then its
	// Pods and volumes, their events, and what could not be looked at. They
	// never hold values of environment variables, and no value of a Secret of
	// the stream.
	Findings []Finding
	// Blocks are the resources that were not applied because of this one, those
	// that need it first.
	Blocks []object.ID
	// Waves are the titles of the later waves that hold them; none in a run that
	// does not go by waves.
	Waves []string
}

// Finding is one thing that the cluster tells.
type Finding struct {
	About object.ID // the resource, or one of its Pods, volumes or makers; none for what could not be looked at
	Text  string
	Log   []string // the last lines that the container wrote
}

// namedBlocks is how many of the resources that wait for another are named.
const namedBlocks = 3

// Lines is the diagnosis as people read it, one finding a line, a log's lines
// behind a bar. Texts are the cluster's: whoever prints them on a terminal
// escapes them.
func (d *Diagnosis) Lines() []string {
	var lines []string
	for _, f := range d.Findings {
		text := f.Text
		if f.About != d.Of && f.About != (object.ID{}) {
			text = f.About.String() + ": " + text
		}
		lines = append(lines, text)
		for _, line := range f.Log {
			lines = append(lines, "  | "+line)
		}
	}
	if len(d.Blocks) > 0 {
		lines = append(lines, "it holds up "+count(len(d.Blocks), "resource")+d.where()+": "+names(d.Blocks))
	}
	return lines
}

// where tells of the waves that are held up.
func (d *Diagnosis) where() string {
	switch len(d.Waves) {
	case 0:
		return ""
	case 1:
		return " in " + d.Waves[0]
	}
	return " in " + d.Waves[0] + " and later"
}

func names(ids []object.ID) string {
	var said []string
	for _, id := range ids[:min(len(ids), namedBlocks)] {
		said = append(said, id.String())
	}
	if more := len(ids) - namedBlocks; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, ", ")
}

// age is how long ago something was, as people read it.
func age(now, then time.Time) string {
	return max(now.Sub(then), 0).Round(time.Second).String()
}
