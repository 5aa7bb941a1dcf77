package applyset

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Writer is an entry of a live object's managedFields as it was decoded. To convert all
// entries of every object of a large set takes long.
type Writer struct {
	Manager     string
	Operation   metav1.ManagedFieldsOperationType
	Subresource string
	APIVersion  string
	Written     string         // RFC 3339, whole seconds
	Fields      map[string]any // the object's own: not to be changed; nil where the entry has none
}

// Time returns when the entry was written; zero if that is not known.
func (w Writer) Time() time.Time {
	at, _ := time.Parse(time.RFC3339, w.Written)
	return at
}

// Writers iterates over the entries of an object's managedFields.
func Writers(live *unstructured.Unstructured) iter.Seq[Writer] {
	entries, _, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	return func(yield func(Writer) bool) {
		for _, entry := range list {
			values, _ := entry.(map[string]any)
			text := func(key string) string {
				value, _ := values[key].(string)
				return value
			}
			fields, _ := values["fieldsV1"].(map[string]any)
			if !yield(Writer{text("manager"), metav1.ManagedFieldsOperationType(text("operation")), text("subresource"), text("apiVersion"), text("time"), fields}) {
				return
			}
		}
	}
}

// fieldSets are the first field sets that were asked for: objects of a kind mostly have the same
// ones, and those of one list share them, see kube.Query.
type fieldSets struct {
	byText map[string]*fieldpath.Set
	shared map[uintptr]sharedSet // by the address of the fields
}

// sharedSet is the set of fields that several objects have. It keeps them, so that no other
// fields get their address.
type sharedSet struct {
	fields map[string]any
	set    *fieldpath.Set
}

func newFieldSets() fieldSets { return fieldSets{map[string]*fieldpath.Set{}, map[uintptr]sharedSet{}} }

// maxFieldSets bounds the sets that are kept: where objects have few in common, it helps little.
const maxFieldSets = 64

// of returns the fields of an entry, which are not to be changed.
func (s fieldSets) of(w Writer) (*fieldpath.Set, error) {
	address := reflect.ValueOf(w.Fields).Pointer()
	if known, ok := s.shared[address]; ok {
		return known.set, nil
	}
	set, err := s.read(w)
	if err == nil && len(s.shared) < maxFieldSets {
		s.shared[address] = sharedSet{w.Fields, set}
	}
	return set, err
}

func (s fieldSets) read(w Writer) (*fieldpath.Set, error) {
	text, err := json.Marshal(w.Fields)
	if err != nil {
		return nil, err
	}
	if set := s.byText[string(text)]; set != nil {
		return set, nil
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	if len(s.byText) < maxFieldSets {
		s.byText[string(text)] = set
	}
	return set, nil
}
