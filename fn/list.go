package fn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// list is the document of a ResourceList and its items as objects of the SDK, which share
// their nodes. The SDK would print it sorted by name, without its comments.
type list struct {
	sdk.ResourceList
	document *yaml.Node
	root     *sdk.KubeObject // the mapping in it
}

// readList parses a ResourceList, which must be the only document. found is false if it is
// anything else, or not YAML.
func readList(in []byte) (out *list, found bool, err error) {
	if !bytes.Contains(in, []byte(kio.ResourceListKind)) {
		return nil, false, nil
	}
	documents, err := tree.ParseAll(in)
	if err != nil || len(documents) != 1 || tree.KindOf(documents[0].Content[0]) != kio.ResourceListKind {
		return nil, false, nil
	}
	out = &list{document: documents[0]}
	return out, true, out.read()
}

// read makes objects of the nodes, of which the SDK accepts no alias.
func (l *list) read() error {
	if _, err := tree.CheckAliases(l.document); err != nil {
		return err
	}
	root := l.document.Content[0]
	if config := tree.Field(root, "functionConfig"); tree.HasAlias(root) || config != nil && tree.HasAnchors(config) {
		if err := tree.ExpandAliases(l.document); err != nil {
			return err
		}
	}
	l.root = kubeObject(root)
	if config := tree.Field(root, "functionConfig"); !tree.IsNull(config) {
		if config.Kind != yaml.MappingNode {
			return errors.New("functionConfig of the ResourceList is not a map")
		}
		l.FunctionConfig = kubeObject(config)
	}
	items := tree.Field(root, "items")
	if tree.IsNull(items) {
		return nil
	}
	if items.Kind != yaml.SequenceNode {
		return errors.New("items of the ResourceList is not a list")
	}
	if err := tree.IsolateAliases(l.document, items.Content); err != nil {
		return err
	}
	for i, item := range items.Content {
		if item.Kind != yaml.MappingNode {
			return fmt.Errorf("items[%d] %w", i, edit.ErrNotAMap)
		}
		l.Items = append(l.Items, kubeObject(item))
	}
	return nil
}

// finish prints the list after a run: the input itself if the run changed nothing, since
// encoders change comments.
func (l *list) finish(in []byte, out Output) Output {
	added, err := l.addResults(out.Findings.results())
	if err == nil && (added || out.changed) {
		in, err = l.print()
	}
	if err != nil {
		return Output{Findings: append(out.Findings, failed(err).Findings...)}
	}
	out.stream = edit.Text{in}
	return out
}

// addResults adds results to those of earlier functions, and reports whether one of them is
// new.
func (l *list) addResults(results sdk.Results) (added bool, err error) {
	var all sdk.SliceSubObjects
	if !tree.IsNull(tree.Field(l.document.Content[0], "results")) {
		if all, _, err = l.root.NestedSlice("results"); err != nil {
			return false, fmt.Errorf("results of the ResourceList is not a list of maps: %w", err)
		}
	}
	known := map[string]bool{}
	for _, entry := range all {
		var earlier sdk.Result
		if entry.As(&earlier) == nil {
			known[resultKey(&earlier)] = true
		}
	}
	for _, r := range results {
		if known[resultKey(r)] {
			continue
		}
		known[resultKey(r)] = true
		entry, err := sdk.NewFromTypedObject(r)
		if err != nil {
			return false, err
		}
		all, added = append(all, &entry.SubObject), true
	}
	if !added {
		return false, nil
	}
	return true, l.root.SetSlice(all, "results")
}

// resultKey returns a text that is equal for results with the same content. The position in a
// file does not count: reindex changes it.
func resultKey(r *sdk.Result) string {
	same := *r
	if same.File != nil {
		same.File = &sdk.File{Path: same.File.Path}
	}
	key, _ := json.Marshal(same) // values that came from JSON
	return string(key)
}

// print prints the document with the items and results, and nothing else changed.
func (l *list) print() ([]byte, error) {
	if len(l.Items) > 0 {
		if err := l.root.SetSlice(subObjects(l.Items), "items"); err != nil {
			return nil, err
		}
	}
	return tree.Encode(l.document)
}
