package fn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// requireInvariants checks the function's invariants on any input: it rejects
// input that kyaml rejects, accepts resources that kyaml accepts, reads the
// same metadata, loses and changes nothing, and a second run changes nothing.
func requireInvariants(t *testing.T, in []byte) {
	if bytes.Contains(in, []byte("\ufeff")) || bytes.Contains(in, []byte("%YAML ")) {
		return // kyaml rejects a directive, and reads a later mark as part of a key; we accept both
	}
	function := fn.Processor{Order: testOrder(t)}
	if kindIsList(in) {
		function = fn.Processor{} // a ResourceList has its own order
	}
	out := function.Run(in)
	nodes, err := kyamlRead(in)
	if err != nil {
		require.True(t, out.Findings.Failed(), "kyaml refuses it (%v), we do not:\n%s", err, in)
		return
	}
	if out.Findings.Failed() {
		if !slices.ContainsFunc(knownRefusals(), func(reason string) bool { return strings.Contains(out.Findings.Lines(), reason) }) {
			require.Fail(t, "refused without a known reason", "%s\n%s", out.Findings.Lines(), in)
		}
		return
	}
	require.NotEmpty(t, out.Stream())
	if bytes.Contains(in, []byte("reindex: true")) {
		return // positions in files change too: testdata/run/reindex_*
	}
	requireSameMetadata(t, nodes, out)
	requireSameObjects(t, in, out.Stream())
	requireSameAsList(t, function, in, nodes, out.Stream())
	again := function.Run(out.Stream())
	if bytes.Contains(in, []byte(" layer: platform/x")) {
		return // comments that look like marks are read as marks at the start of a line
	}
	require.Equal(t, string(out.Stream()), string(again.Stream()), "a second run changes the output of\n%s\n%s", in, again.Findings.Lines())
}

// requireSameAsList requires that a plain stream gets the stamps and the order that its
// documents, read and printed by kyaml, get as items of a ResourceList.
func requireSameAsList(t *testing.T, function fn.Processor, in []byte, nodes []*kyaml.RNode, out []byte) {
	if function.Order == nil {
		return // it is a ResourceList
	}
	for _, node := range nodes {
		if strings.HasSuffix(node.GetKind(), "List") || node.DeAnchor() != nil {
			return // split in a stream, and not in a ResourceList
		}
	}
	var list bytes.Buffer
	writer := kio.ByteWriter{Writer: &list, KeepReaderAnnotations: true, WrappingKind: kio.ResourceListKind, WrappingAPIVersion: kio.ResourceListAPIVersion}
	require.NoError(t, writer.Write(nodes))
	before, err := decodeAll(tree.WithLastNewline(in))
	items, listErr := itemsOf(list.Bytes())
	if err != nil || listErr != nil || !reflect.DeepEqual(before, items) {
		return // duplicate keys, documents after "...", or values that kyaml's encoder changes
	}
	processed := function.Run(list.Bytes())
	require.False(t, processed.Findings.Failed(), "%s\n%s", processed.Findings.Lines(), list.Bytes())
	want, err := itemsOf(processed.Stream())
	require.NoError(t, err)
	got, err := decodeAll(out)
	require.NoError(t, err)
	require.Equal(t, want, got, "from\n%s\nto\n%s", processed.Stream(), out)
}

// itemsOf decodes the items of a ResourceList.
func itemsOf(list []byte) ([]any, error) {
	documents, err := decodeAll(list)
	if err != nil {
		return nil, err
	}
	items, _ := documents[0].(map[string]any)["items"].([]any)
	return items, nil
}

// requireSameOrderedObjects compares streams including annotations and order.
func requireSameOrderedObjects(t *testing.T, a, b []byte) {
	want, err := decodeAll(a)
	require.NoError(t, err)
	got, err := decodeAll(b)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// knownRefusals returns the reasons to reject input that kyaml accepts: it is
// not a resource, or kyaml would lose or corrupt some of it.
func knownRefusals() []string {
	return []string{
		"is not a resource", "is not a map", "is not a string", "is not a list", "contains no resources", "is not UTF-8", "among other documents",
		"aliases expand", "is inside its own anchor", "expand aliases", "the YAML printer would change it",
		"did not find expected <document start>", "annotation ordapply.dev/", "label ordapply.dev/", "is in the stream as a resource", "not YAML",
		"sortOrder", "functionConfig", "apiVersion:", "kind:", "two different orders", "is not valid YAML", "is not a document separator", "metadata", "unknown field",
		"is a line --- missing between them", "Lists are inside one another",
	}
}

func testOrder(t *testing.T) *sortorder.Order {
	order, err := sortorder.Parse([]byte(`{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: platform}, sortOrder: [
	  {kind: Service, layer: services, gate: applied}, {unmatched: true, layer: rest},
	  {matchExpressions: [{key: tier, operator: Exists}], layer: tiers, timeout: 1m}]}`))
	require.NoError(t, err)
	return order
}

func kindIsList(in []byte) bool {
	return bytes.Contains(in, []byte("kind: ResourceList")) || bytes.Contains(in, []byte(`"ResourceList"`))
}

// kyamlRead parses as kustomize and kpt do. kyaml panics on some input, which
// counts as an error.
func kyamlRead(in []byte) (nodes []*kyaml.RNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kyaml panics: %v", r)
		}
	}()
	if !utf8.Valid(in) {
		return nil, errors.New("not UTF-8")
	}
	return (&kio.ByteReader{Reader: bytes.NewReader(in), OmitReaderAnnotations: true, DisableUnwrapping: true}).Read()
}

// requireSameMetadata compares the metadata read by the function and by kyaml.
func requireSameMetadata(t *testing.T, nodes []*kyaml.RNode, out fn.Output) {
	var want []string
	for _, node := range nodes {
		if node.DeAnchor() != nil {
			return // kyaml cannot read it
		}
		want = append(want, metasBelow(node)...)
	}
	var got []string
	for _, m := range out.Metas() {
		got = append(got, fmt.Sprintf("%q %q %q %q %q %v %v", m.Group, m.Version, m.Kind, m.Namespace, m.Name, m.Labels, m.Annotations))
	}
	if len(got) > len(want) {
		return // documents after "...", which kyaml ignores
	}
	if !slices.Contains(want, ambiguous) {
		require.Equal(t, want, got)
	}
}

// ambiguous replaces metadata with duplicate keys: kyaml uses the first or the
// last one, depending on the function.
const ambiguous = "ambiguous"

// metasBelow returns the metadata of a document, or of the entries of a list.
func metasBelow(node *kyaml.RNode) []string {
	items := node.Field("items")
	if items == nil && node.GetKind() == "ResourceList" {
		return nil
	}
	if items != nil && strings.HasSuffix(node.GetKind(), "List") {
		var out []string
		entries, err := items.Value.Elements()
		if err != nil {
			return nil
		}
		for _, entry := range entries {
			if entry.Field("kind") == nil && node.GetKind() != "ResourceList" && node.GetKind() != "List" {
				_ = entry.SetMapField(kyaml.NewStringRNode(strings.TrimSuffix(node.GetKind(), "List")), "kind")
				if entry.Field("apiVersion") == nil && node.GetApiVersion() != "" {
					_ = entry.SetMapField(kyaml.NewStringRNode(node.GetApiVersion()), "apiVersion")
				}
			}
			if node.GetKind() == "ResourceList" {
				out = append(out, metaLine(entry))
				continue
			}
			out = append(out, metasBelow(entry)...)
		}
		return out
	}
	return []string{metaLine(node)}
}

func metaLine(node *kyaml.RNode) string {
	meta, _ := node.GetMeta() // an object without metadata has none
	for _, path := range [][]string{{}, {"metadata"}, {"metadata", "labels"}, {"metadata", "annotations"}} {
		if field, err := node.Pipe(kyaml.Lookup(path...)); err == nil && hasTwice(field) {
			return ambiguous
		}
	}
	group, version := object.SplitAPIVersion(meta.APIVersion)
	return fmt.Sprintf("%q %q %q %q %q %v %v", group, version, meta.Kind, meta.Namespace, meta.Name, meta.Labels, meta.Annotations)
}

func hasTwice(node *kyaml.RNode) bool {
	if node.IsNil() || node.YNode().Kind != kyaml.MappingNode {
		return false
	}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content()); i += 2 {
		if key := node.Content()[i].Value; seen[key] {
			return true
		} else {
			seen[key] = true
		}
	}
	return false
}

// requireSameObjects decodes both streams with an independent parser and
// compares the objects without stamps and results.
func requireSameObjects(t *testing.T, in, out []byte) {
	before, err := decodeAll(tree.WithLastNewline(in)) // as kubectl reads it
	if err != nil || bytes.LastIndex(in, []byte("\ufeff")) > 0 {
		return // duplicate keys, or a byte order mark before a later document: this parser cannot judge
	}
	after, err := decodeAll(out)
	require.NoError(t, err, "the output cannot be read:\n%s", out)
	require.Equal(t, objectLines(before), objectLines(after), "from\n%s\nto\n%s", in, out)
}

func decodeAll(stream []byte) ([]any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(stream))
	var out []any
	for {
		var object any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if object != nil {
			out = append(out, withTextKeys(object))
		}
	}
}

// withTextKeys converts all map keys to strings: YAML permits others.
func withTextKeys(value any) any {
	switch v := value.(type) {
	case map[any]any:
		out := map[string]any{}
		for key, value := range v {
			out[fmt.Sprint(key)] = withTextKeys(value)
		}
		return out
	case map[string]any:
		for key, value := range v {
			v[key] = withTextKeys(value)
		}
	case []any:
		for i, value := range v {
			v[i] = withTextKeys(value)
		}
	}
	return value
}

// objectLines returns the objects as text, sorted.
func objectLines(objects []any) []string {
	var out []string
	for _, object := range explode(objects) {
		out = append(out, fmt.Sprintf("%#v", withoutStamps(object)))
	}
	slices.Sort(out)
	return out
}

// explode splits Lists, as in plain streams; a ResourceList's items become
// objects, and its other fields another one.
func explode(objects []any) []any {
	var out []any
	for _, object := range objects {
		list, ok := object.(map[string]any)
		kind, _ := list["kind"].(string)
		items, hasItems := list["items"]
		entries, isSequence := items.([]any)
		if kind == "ResourceList" {
			delete(list, "results")
		}
		switch {
		case object == nil:
		case !ok || !hasItems || !strings.HasSuffix(kind, "List"):
			out = append(out, object)
		case kind == "ResourceList":
			delete(list, "items")
			out = append(out, object)
			out = append(out, entries...)
		case isSequence:
			out = append(out, explode(inherit(entries, list, kind))...)
		}
	}
	return out
}

func inherit(entries []any, list map[string]any, kind string) []any {
	for _, entry := range entries {
		object, ok := entry.(map[string]any)
		if _, has := object["kind"]; !ok || has || kind == "List" {
			continue
		}
		object["kind"] = strings.TrimSuffix(kind, "List")
		if _, has := object["apiVersion"]; !has && list["apiVersion"] != nil {
			object["apiVersion"] = list["apiVersion"]
		}
	}
	return entries
}

// withoutStamps removes the function's own keys, and maps that it may have
// added.
func withoutStamps(object any) any {
	resource, _ := object.(map[string]any)
	metadata, _ := resource["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, key := range stamp.Keys() {
		delete(annotations, key)
	}
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	if len(metadata) == 0 {
		delete(resource, "metadata")
	}
	return object
}
