package liveview

import (
	"strings"
	"unicode"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/terminal"
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
	if terminal.Width(full) <= columns {
		return full
	}
	id.Group = ""
	short := plain.Line(id.String())
	if terminal.Width(short) <= columns {
		return short
	}
	if capitals := initials(id.Kind); len(capitals) > 2 {
		id.Kind = capitals
	}
	short = plain.Line(id.String())
	if columns >= leastKind || terminal.Width(short) <= columns {
		return terminal.Clip(short, columns)
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
