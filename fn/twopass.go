package fn

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// runPass runs one of the two passes.
func (d Planner) runPass(in []byte) Output {
	t, err := edit.ReadTree(in)
	if err != nil {
		return failed(err)
	}
	if !t.IsList() {
		return failed(errors.New("carry is for kustomize build; a plain stream does not need it: remove carry from the order"))
	}
	pass := d.pack
	if d.Order.Carry == sortorder.Unpack {
		pass = d.unpack
	}
	items, findings, err := pass(t)
	if err != nil {
		findings = Findings{{Severity: Error, Message: err.Error()}}
		findings.about(d.Config)
	}
	if findings.Failed() {
		return refused(t, findings)
	}
	stream, err := t.WithItems(items, findings.results())
	if err != nil {
		return failed(err)
	}
	return Output{stream: stream, Findings: findings}
}

// pack sorts and stamps the resources and puts them into one carrier.
func (d Planner) pack(t *edit.Tree) ([]*yaml.Node, Findings, error) {
	metas := t.Metas()
	for _, m := range metas {
		if m.Annotations[stamp.KustomizeID] == "" && !isCarrier(m) {
			return nil, nil, fmt.Errorf("carry: pack is for kustomize build, but %s does not come from it: use the order without carry", m.ID)
		}
	}
	d.Objects = t.Object
	decision := d.decide(metas)
	if decision.Findings.Failed() {
		return nil, decision.Findings, nil
	}
	documents, err := t.Texts(decision.Sorted, edits(decision.Changes))
	if err != nil {
		return nil, nil, err
	}
	payload := string(edit.Join(documents, nil).Joined())
	carrier := newObject(carrierKind)
	tree.SetField(carrier, "checksum", tree.Plain(checksum(payload)))
	tree.SetField(carrier, "payload", tree.Plain(payload))
	tree.SetField(tree.EnsureMap(carrier, "metadata", tree.SetField), "name", tree.Plain(carrierName(d.Order.Name)))
	return []*yaml.Node{carrier}, decision.Findings, nil
}

// newObject returns an object of a kind of ours.
func newObject(kind string) *yaml.Node {
	object := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	tree.SetField(object, "apiVersion", tree.Plain(sortorder.APIVersion))
	tree.SetField(object, "kind", tree.Plain(kind))
	return object
}

func checksum(payload string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(payload))) }

// unpack extracts the resources in the order in which they were packed.
func (d Planner) unpack(t *edit.Tree) ([]*yaml.Node, Findings, error) {
	carrier, err := d.findCarrier(t)
	if err != nil {
		return nil, nil, err
	}
	body := t.Body(carrier)
	payload, _ := tree.TextOf(body, "payload")
	sum, _ := tree.TextOf(body, "checksum")
	if sum != checksum(payload) || !isUnmodified(t.Metas()[carrier], body, d.Order.Of) {
		return nil, nil, fmt.Errorf("a transformer ran between the two passes of order %s, and its changes would be lost: %s", d.Order.Of, twoPassAdvice)
	}
	documents, err := tree.ParseAll([]byte(payload))
	if err != nil {
		return nil, nil, fmt.Errorf("unpack: %w", err)
	}
	items := make([]*yaml.Node, len(documents))
	for i, document := range documents {
		items[i] = document.Content[0]
	}
	return items, nil, nil
}

// findCarrier returns the index of the carrier, which must be the only item.
func (d Planner) findCarrier(t *edit.Tree) (int, error) {
	metas := t.Metas()
	var carriers, others []int
	for i, m := range metas {
		if isCarrier(m) {
			carriers = append(carriers, i)
		} else {
			others = append(others, i)
		}
	}
	switch {
	case len(carriers) == 0:
		return 0, fmt.Errorf("nothing was packed: the first pass of order %s did not run before the second; %s", d.Order.Of, twoPassAdvice)
	case len(carriers) > 1:
		return 0, fmt.Errorf("%d orders are packed at once: a base runs the first pass without the second; there, %s", len(carriers), twoPassAdvice)
	case len(others) > 0:
		return 0, fmt.Errorf("%s was added between the two passes of order %s; %s", metas[others[0]].ID, d.Order.Of, twoPassAdvice)
	case !strings.HasSuffix(metas[carriers[0]].Name, carrierName(d.Order.Of)):
		return 0, fmt.Errorf("%s was packed, but order %s is to be unpacked; %s", metas[carriers[0]].Name, d.Order.Of, twoPassAdvice)
	}
	return carriers[0], nil
}

// isUnmodified reports whether the carrier has its original name and nothing that
// a transformer added. Annotations that kustomize sets on every resource are
// ignored.
func isUnmodified(m object.Meta, body *yaml.Node, order string) bool {
	for key := range m.Annotations {
		prefix, _, _ := strings.Cut(key, "/")
		if !strings.HasSuffix(prefix, "config.kubernetes.io") && prefix != "config.k8s.io" && prefix != "kustomize.config.k8s.io" {
			return false
		}
	}
	fields := []string{"apiVersion", "kind", "metadata", "checksum", "payload"}
	for i := 0; i < len(body.Content); i += 2 {
		if !slices.Contains(fields, body.Content[i].Value) {
			return false
		}
	}
	return m.Name == carrierName(order) && m.Namespace == "" && len(m.Labels) == 0
}

// TwoPasses returns, for a SortOrder for kustomize, a file with two documents, the
// passes Pack and Unpack, which preserve its order through the build. It returns an
// error if Parse rejects the order, if it is already one of two passes, or if it
// lacks the annotation config.kubernetes.io/function, which both passes need.
func TwoPasses(config []byte) ([]byte, error) {
	order, err := sortorder.Parse(config)
	if err != nil {
		return nil, err
	}
	if order.Carry != sortorder.NoPass {
		return nil, errors.New("it is already one of two passes")
	}
	documents, err := tree.ParseAll(config)
	if err != nil {
		return nil, err
	}
	first := documents[0].Content[0]
	annotations, err := tree.TextMap(tree.Field(first, "metadata"), "annotations")
	if err != nil || annotations[functionAnnotation] == "" {
		return nil, fmt.Errorf("it has no annotation %s, by which kustomize finds the function: add it, both passes need it", functionAnnotation)
	}
	second := newObject(sortorder.Kind)
	metadata := tree.EnsureMap(second, "metadata", tree.SetField)
	tree.SetField(metadata, "name", tree.Plain(order.Name+"-unpack"))
	tree.SetField(tree.EnsureMap(metadata, "annotations", tree.SetField), functionAnnotation, tree.Plain(annotations[functionAnnotation]))
	tree.SetField(second, "carry", tree.Plain(string(sortorder.Unpack)))
	tree.SetField(second, "of", tree.Plain(order.Name))
	tree.SetField(first, "carry", tree.Plain(string(sortorder.Pack)))
	if tree.Field(first, "apiVersion") == nil { // Parse accepts it without, kustomize does not
		tree.SetField(first, "apiVersion", tree.Plain(sortorder.APIVersion))
	}
	pack, err := tree.Encode(documents[0])
	if err != nil {
		return nil, err
	}
	unpack, err := tree.Encode(second)
	return slices.Concat(pack, []byte("---\n"), unpack), err
}

// functionAnnotation names the program that kustomize runs.
const functionAnnotation = "config.kubernetes.io/function"
