package differential

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// artist draws objects from the documents of testdata/kinds.yaml, whose first lines explain
// the notation.
type artist struct {
	*rand.Rand
	name  string              // of the object that is being drawn
	peers map[string][]string // names of the batch's objects, by kind
	odd   bool                // some fields get a value that people rarely write
}

// kinds returns the documents from which objects are drawn.
func kinds(t testing.TB) []*yaml.Node {
	t.Helper()
	data, err := os.ReadFile("testdata/kinds.yaml")
	require.NoError(t, err)
	var file struct{ Kinds []yaml.Node }
	require.NoError(t, yaml.Unmarshal(data, &file))
	var documents []*yaml.Node
	for i := range file.Kinds {
		documents = append(documents, &file.Kinds[i])
	}
	return documents
}

// kindOf returns the kind of a document's objects.
func kindOf(document *yaml.Node) string {
	var head struct{ Kind string }
	_ = document.Decode(&head)
	return head.Kind
}

// drawBatch returns random objects, their names numbered from first. Every kind has its turn.
func drawBatch(r *rand.Rand, kinds []*yaml.Node, first, count int) []map[string]any {
	a := &artist{Rand: r, peers: map[string][]string{}}
	name := func(i int) string { return fmt.Sprintf("o%d", first+i) }
	document := func(i int) *yaml.Node { return kinds[(first+i)%len(kinds)] }
	for i := range count {
		kind := kindOf(document(i))
		a.peers[kind] = append(a.peers[kind], name(i))
	}
	var objects []map[string]any
	for i := range count {
		objects = append(objects, a.object(document(i), name(i)))
	}
	return objects
}

// object draws an object with a name. Half of them have odd values.
func (a *artist) object(document *yaml.Node, name string) map[string]any {
	a.name, a.odd = name, a.IntN(2) == 0
	drawn, _ := a.value(document).(map[string]any)
	return drawn
}

func (a *artist) value(node *yaml.Node) any {
	switch {
	case node.Kind == yaml.AliasNode:
		return a.value(node.Alias)
	case node.Tag == "!any":
		return a.value(node.Content[a.IntN(len(node.Content))])
	case node.Tag == "!peer":
		return a.peer(node.Value)
	case node.Kind == yaml.SequenceNode:
		return a.list(node)
	case node.Kind == yaml.MappingNode:
		fields := map[string]any{}
		a.addFields(fields, node)
		return fields
	}
	var scalar any
	_ = node.Decode(&scalar)
	if text, ok := scalar.(string); ok {
		return strings.ReplaceAll(text, "$NAME", a.name)
	}
	return scalar
}

func (a *artist) peer(kind string) string {
	if names := a.peers[kind]; len(names) > 0 {
		return names[a.IntN(len(names))]
	}
	return "none"
}

func (a *artist) addFields(fields map[string]any, node *yaml.Node) {
	for i := 0; i < len(node.Content); i += 2 {
		field, value := node.Content[i], node.Content[i+1]
		name, optional := strings.CutSuffix(field.Value, "~")
		optional = optional || node.Tag == "!some"
		if name == "<" {
			for value.Kind == yaml.AliasNode {
				value = value.Alias
			}
			a.addFields(fields, value)
			continue
		}
		if optional && a.IntN(2) == 0 {
			continue
		}
		drawn := a.value(value)
		if optional && a.odd && a.IntN(8) == 0 {
			drawn = emptied(a.Rand, drawn)
		}
		fields[strings.ReplaceAll(name, "$NAME", a.name)] = drawn
	}
}

// list draws the items of a list, of one tagged !some a part of them in any order.
func (a *artist) list(node *yaml.Node) []any {
	items := []any{}
	for _, item := range node.Content {
		if node.Tag != "!some" || a.IntN(2) == 0 {
			items = append(items, a.value(item))
		}
	}
	if node.Tag != "!some" || len(items) == 0 {
		return items
	}
	if a.IntN(3) == 0 {
		a.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	if a.odd && a.IntN(10) == 0 {
		items = append(items, items[a.IntN(len(items))])
	}
	return items
}

// emptied returns null or the empty value of a value's type.
func emptied(r *rand.Rand, value any) any {
	if r.IntN(2) == 0 {
		return nil
	}
	switch value.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	case string:
		return ""
	case bool:
		return false
	case nil:
		return ""
	}
	return 0
}
