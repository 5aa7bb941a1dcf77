package set

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/live/inventory"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// TakenFromAnnotation is on the parent of a set, and lists the objects that a run with
// --take-over found in the records of other tools and not in its stream, until a prune makes them
// members. The records are not read again for them: a later write of a record lists nothing here.
// It is JSON, compressed where it is long.
const TakenFromAnnotation = "ordapply.dev/taken-from"

// takenRecord is an inventory.Inventory as the parent lists it.
type takenRecord struct {
	Record  string      `json:"record"`
	Title   string      `json:"title"`
	Objects [][4]string `json:"objects,omitempty"` // group, kind, namespace, name
}

// readTaken returns the objects that a live parent lists; none where the annotation cannot be read.
func readTaken(parent *unstructured.Unstructured) []inventory.Inventory {
	var listed []takenRecord
	text, err := history.UnpackText(parent.GetAnnotations()[TakenFromAnnotation])
	if err != nil || json.Unmarshal(text, &listed) != nil {
		return nil
	}
	var taken []inventory.Inventory
	for _, record := range listed {
		ref, ok := inventory.Parse(record.Record)
		if !ok {
			continue
		}
		next := inventory.Inventory{Ref: ref, Title: record.Title}
		for _, id := range record.Objects {
			next.Objects = append(next.Objects, object.ID{Group: id[0], Kind: id[1], Namespace: id[2], Name: id[3]})
		}
		taken = append(taken, next)
	}
	return taken
}

// takenText returns records as the parent lists them; "" for none.
func takenText(taken []inventory.Inventory) string {
	if len(taken) == 0 {
		return ""
	}
	var listed []takenRecord
	for _, record := range taken {
		next := takenRecord{Record: record.Ref.String(), Title: record.Title}
		for _, id := range record.Objects {
			next.Objects = append(next.Objects, [4]string{id.Group, id.Kind, id.Namespace, id.Name})
		}
		listed = append(listed, next)
	}
	text, err := json.Marshal(listed)
	if err != nil {
		panic(err) // it holds strings only
	}
	return history.PackText(text)
}

// TakenFrom returns the records that the set takes over, with their objects that the stream
// did not contain.
func (s *Set) TakenFrom() []inventory.Inventory { return slices.Clone(s.taken) }

// TakeFrom makes the parent list these objects of a record, at its next write.
func (s *Set) TakeFrom(record inventory.Inventory, ids []object.ID) error {
	next := slices.Clone(s.taken)
	i := slices.IndexFunc(next, func(taken inventory.Inventory) bool { return taken.Ref == record.Ref })
	if i < 0 {
		i, next = len(next), append(next, inventory.Inventory{Ref: record.Ref, Title: record.Title})
	}
	all := slices.SortedFunc(slices.Values(slices.Concat(next[i].Objects, ids)), object.Compare)
	next[i].Objects = slices.Compact(all)
	if len(takenText(next))+len(s.former.text()) > maxFormer { // they become former members
		return fmt.Errorf("%s contains %d objects that the stream does not contain, more than the parent of apply set %s can list: delete those that are not needed with that tool first", record.Title, len(ids), s.Parent.ID)
	}
	s.taken = next
	return nil
}

// ForgetTaken lets the next write of the parent list no record.
func (s *Set) ForgetTaken() { s.taken = nil }
