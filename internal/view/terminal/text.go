package terminal

import (
	"strings"
	"time"
	"unicode"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// leastKind is the minimum width at which a label contains a kind.
const leastKind = 24

// label returns the name of a resource within a number of columns: in full if
// it fits, else without its group, then with the initials of its kind (CRD,
// HPA), and only then cut. In few columns it omits the kind, then the
// namespace.
func label(id object.ID, columns int) string {
	full := plain.Line(id.String())
	if Width(full) <= columns {
		return full
	}
	id.Group = ""
	short := plain.Line(id.String())
	if Width(short) <= columns {
		return short
	}
	if capitals := initials(id.Kind); len(capitals) > 2 {
		id.Kind = capitals
	}
	short = plain.Line(id.String())
	if columns >= leastKind || Width(short) <= columns {
		return Clip(short, columns)
	}
	name := plain.Line(id.Name)
	if id.Namespace == "" {
		return fitting(columns, name)
	}
	return fitting(columns, plain.Line(id.Namespace)+"/"+name, name)
}

// initials returns the capital letters of a kind.
func initials(kind string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return r
		}
		return -1
	}, kind)
}

// fitting returns the first text that fits into columns; if none does, the last
// one, cut.
func fitting(columns int, texts ...string) string {
	for _, text := range texts {
		if Width(text) <= columns {
			return text
		}
	}
	return Clip(texts[len(texts)-1], max(0, columns))
}

// describe returns the state of a resource, and why it waits or has ended.
func describe(r *track.Resource) string {
	if r.Detail == "" {
		return r.State.Words()
	}
	return r.State.Words() + ": " + plain.Line(r.Detail)
}

// waitsFor returns a resource's reason to wait.
func waitsFor(r *track.Resource) string {
	switch {
	case r.Detail != "":
		return plain.Line(r.Detail)
	case r.State == event.Applying:
		return "no answer yet"
	case r.State == event.Deleting:
		return "not gone yet"
	}
	return "not ready yet"
}

// span formats a duration: to a hundredth of a second below ten seconds, else
// to the second.
func span(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return clock(d)
}

// clock formats a running duration, to the second.
func clock(d time.Duration) string { return d.Truncate(time.Second).String() }
