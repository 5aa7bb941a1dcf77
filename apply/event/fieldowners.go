package event

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// FieldOwners are the findings of a run about other field managers of an object.
type FieldOwners struct {
	// TakenFrom are the managers whose fields the run takes over: fields that are not in the
	// manifest are removed.
	TakenFrom []string
	// Agreeing are the managers that conflict about fields that keep their value: the run takes
	// these fields.
	Agreeing []string
	// SharedWith are the managers that apply the object too, and hold fields that the
	// manifest contains.
	SharedWith []string
	// Left are the fields that left the manifest and stay on the object, by the managers
	// that own them as well.
	Left []LeftFields
}

// some reports whether there are any.
func (o FieldOwners) some() bool {
	return len(o.TakenFrom)+len(o.Agreeing)+len(o.SharedWith)+len(o.Left) > 0
}

// LeftFields are fields that left a manifest and stay because another manager owns them.
type LeftFields struct {
	Manager string
	Fields  []string // as in a conflict: .spec.replicas
}

// Limits of a note's lists.
const (
	shownObjects = 3
	shownFields  = 5
)

// OwnerNotes describes the findings of a run about other field managers, one note for each
// manager and finding. would is set for notes before a run.
func OwnerNotes(results []OwnedFields, would bool) []string {
	var notes []string
	took, are := "took over the fields of", "took fields of"
	if would {
		took, are = "takes over the fields of", "takes fields of"
	}
	add := func(managersOf func(FieldOwners) []string, format string) {
		objects := map[string][]object.ID{}
		var managers []string
		for _, r := range results {
			for _, manager := range managersOf(r.FieldOwners) {
				if objects[manager] == nil {
					managers = append(managers, manager)
				}
				objects[manager] = append(objects[manager], r.ID)
			}
		}
		slices.Sort(managers)
		for _, manager := range managers {
			notes = append(notes, fmt.Sprintf(format, quoted(manager), objectList(objects[manager])))
		}
	}
	add(func(o FieldOwners) []string { return o.TakenFrom }, took+" field manager %s on %s: what it wrote and the manifest does not contain is removed")
	add(func(o FieldOwners) []string { return o.Agreeing }, are+" field manager %s on %s that have the same value in the manifest")
	add(func(o FieldOwners) []string { return o.SharedWith }, "two managers hold the same fields: %[1]s also applies %[2]s: apply them with one tool only, and take over what the other wrote with --force-conflicts=%[1]s")
	return append(notes, leftNotes(results)...)
}

// OwnedFields are the findings about one object.
type OwnedFields struct {
	ID object.ID
	FieldOwners
}

// leftNotes describes the fields that stay, one note for all objects with the same fields.
func leftNotes(results []OwnedFields) []string {
	objects := map[string][]object.ID{}
	var order []string
	for _, r := range results {
		for _, left := range r.Left {
			fields := strings.Join(left.Fields[:min(shownFields, len(left.Fields))], ", ")
			if more := len(left.Fields) - shownFields; more > 0 {
				fields += fmt.Sprintf(" and %d more", more)
			}
			what := fmt.Sprintf("left: %s, also owned by %s", fields, left.Manager)
			if objects[what] == nil {
				order = append(order, what)
			}
			objects[what] = append(objects[what], r.ID)
		}
	}
	for i, what := range order {
		order[i] = what + ", on " + objectList(objects[what])
	}
	return order
}

// objectList names some objects and counts the others.
func objectList(ids []object.ID) string {
	var names []string
	for _, id := range ids[:min(shownObjects, len(ids))] {
		names = append(names, id.String())
	}
	if more := len(ids) - shownObjects; more > 0 {
		return plain.Count(len(ids), "object") + " (" + strings.Join(names, ", ") + " and " + fmt.Sprint(more) + " more)"
	}
	return strings.Join(names, ", ")
}

func quoted(manager string) string {
	if strings.ContainsAny(manager, ", ") {
		return fmt.Sprintf("%q", manager)
	}
	return manager
}
