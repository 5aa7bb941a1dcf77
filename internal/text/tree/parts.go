package tree

import (
	"bytes"
	"errors"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// partSize is how many items of a list are printed at once. The encoder keeps every event of a
// document until its end, which takes more time and memory than the rest of the work.
const partSize = 4

// placeholder stands for the items of a list while the rest of its document is printed.
const placeholder = "ordapply-items"

// inParts prints a document, and the items of its list in parts.
func inParts(node, list *yaml.Node) ([]byte, error) {
	items := list.Content
	list.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Value: placeholder}}
	around, err := whole(node)
	list.Content = items
	before, after, found := bytes.Cut(around, []byte("\n- "+placeholder+"\n"))
	if err != nil || !found || bytes.Contains(after, []byte(placeholder)) {
		return whole(node)
	}
	parts := slices.Collect(slices.Chunk(items, partSize))
	texts := make([][]byte, len(parts))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, part := range parts {
		all.Go(func() (err error) {
			texts[i], err = whole(&yaml.Node{Kind: yaml.SequenceNode, Tag: list.Tag, Content: part})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(before, []byte("\n"), slices.Concat(texts...), after), nil
}

// longList returns the items of a Kubernetes list that can be printed in parts: a field of the
// document in block style. No alias may lead from one part to another.
func longList(node *yaml.Node) *yaml.Node {
	root := content(node)
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 {
		return nil
	}
	var list *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "items" {
			list = root.Content[i+1]
		}
	}
	if list == nil || list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 || list.Anchor != "" || len(list.Content) <= partSize {
		return nil
	}
	plain := true
	each(node, func(n *yaml.Node) { plain = plain && n.Kind != yaml.AliasNode && n.FootComment == "" })
	if !plain {
		return nil
	}
	return list
}

func encode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	err := errors.Join(encoder.Encode(node), encoder.Close())
	return out.Bytes(), err
}
