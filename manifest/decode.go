package manifest

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// The documents of a group, and the bytes after which it ends. Small ones take less time if they
// are decoded together; large ones are decoded on all cores.
const (
	groupSize  = 32
	groupBytes = 64 << 10
)

// groups returns documents in groups to decode. One that may have aliases is alone, so that a
// stream of them ends soon after they expand to too much. An error ends the groups.
func groups(documents iter.Seq2[document, error]) iter.Seq2[[]document, error] {
	return func(yield func([]document, error) bool) {
		var group []document
		size := 0
		end := func() bool {
			whole := group
			group, size = nil, 0
			return len(whole) == 0 || yield(whole, nil)
		}
		for doc, err := range documents {
			alone := err == nil && tree.MayHaveAliases(doc.text)
			if (err != nil || alone) && !end() {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			group = append(group, doc)
			size += len(doc.text)
			if (alone || len(group) == groupSize || size > groupBytes) && !end() {
				return
			}
		}
		end()
	}
}

// decoded is the object of a document; nil if that is empty.
type decoded struct {
	object   *unstructured.Unstructured
	repeated int // bytes that aliases repeat
	err      error
}

// decodeAll decodes documents: together if they are plain, else one by one.
func decodeAll(docs []document) []decoded {
	values, plain := plainValues(docs)
	all := make([]decoded, len(docs))
	for i, doc := range docs {
		if plain {
			all[i].object, all[i].err = objectOf(values[i])
		} else {
			all[i] = decode(doc)
		}
	}
	return all
}

// plainValues decodes documents together, if they are as almost all documents are.
func plainValues(docs []document) (values []any, ok bool) {
	texts := make([][]byte, len(docs))
	for i, doc := range docs {
		if doc.fault != nil || tree.Failure(doc.text) != "" || tree.MayHaveAliases(doc.text) || !fillsLines(doc.text) {
			return nil, false
		}
		texts[i] = doc.text
	}
	return tree.PlainValues(texts)
}

// decode decodes one document.
func decode(doc document) (out decoded) {
	if doc.fault != nil {
		return decoded{err: doc.fault}
	}
	if line := tree.Failure(doc.text); line != "" {
		return decoded{err: tree.Failed(line)}
	}
	body, repeated, err := tree.ToJSONCounting(doc.text)
	if err == nil {
		err = checkTrailing(doc.text)
	}
	if err != nil {
		return decoded{err: atLine(redact.YAMLError(err, doc.text), doc.line)}
	}
	var value any
	if err := utiljson.Unmarshal(body, &value); err != nil {
		return decoded{err: err}
	}
	out.object, out.err = objectOf(value)
	out.repeated = repeated
	return out
}

// objectOf returns the object that a document is; nil for none.
func objectOf(value any) (*unstructured.Unstructured, error) {
	if value == nil {
		return nil, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a Kubernetes object: expected a map with apiVersion and kind, got a %s", shape(value))
	}
	share(object)
	return &unstructured.Unstructured{Object: object}, nil
}

func shape(value any) string {
	switch value.(type) {
	case []any:
		return "list"
	case string:
		return "string"
	default:
		return "single value"
	}
}
