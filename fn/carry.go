package fn

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// carrierKind is the kind of the carrier, which is left in the output if the
// second pass does not run. No API server accepts its kind or name.
const carrierKind = "SecondPassMissing"

// twoPassAdvice is the advice for errors in the two passes.
const twoPassAdvice = "list the output of `sortorder carry`, which contains both passes, last under transformers"

func carrierName(order string) string { return order + "_second_pass_missing" }

func isCarrier(m object.Meta) bool {
	group, _ := object.SplitAPIVersion(sortorder.APIVersion)
	return m.Kind == carrierKind && m.Group == group
}

// carry runs one of the two passes.
func (d Planner) carry(in []byte) Output {
	t, err := readTree(in)
	if err != nil {
		return failed(err)
	}
	if t.list == nil {
		return failed(errors.New("carry is for kustomize build; a plain stream does not need it: remove carry from the order"))
	}
	pass := d.pack
	if d.Order.Carry == sortorder.Unpack {
		pass = d.unpack
	}
	items, findings, err := pass(t)
	if err != nil {
		findings = Findings{{Severity: Error, Message: err.Error()}}
	}
	if findings.Failed() {
		return refused(t, findings)
	}
	setField(t.list, "items", &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: items})
	if err := addResults(t.list, findings); err != nil {
		return failed(err)
	}
	printed, err := encode(t.list)
	if err != nil {
		return failed(err)
	}
	return Output{stream: text{printed}, Findings: findings}
}

// pack sorts and stamps the resources and puts them into one carrier.
func (d Planner) pack(t *tree) ([]*yaml.Node, Findings, error) {
	metas := t.metas()
	for _, m := range metas {
		if m.Annotations[kustomizeID] == "" && !isCarrier(m) {
			return nil, nil, fmt.Errorf("carry: pack is for kustomize build, but %s does not come from it: use the order without carry", m.ID)
		}
	}
	d.Objects = t.object
	decision := d.decide(metas)
	if decision.Findings.Failed() {
		return nil, decision.Findings, nil
	}
	documents, err := t.texts(decision.Sorted, decision.Changes)
	if err != nil {
		return nil, nil, err
	}
	payload := string(join(documents, nil).joined())
	carrier := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, entry := range [][2]string{{"apiVersion", sortorder.APIVersion}, {"kind", carrierKind}, {"checksum", checksum(payload)}, {"payload", payload}} {
		setField(carrier, entry[0], plainNode(entry[1]))
	}
	setField(ensureMap(carrier, "metadata", setField), "name", plainNode(carrierName(d.Order.Name)))
	return []*yaml.Node{carrier}, decision.Findings, nil
}

func checksum(payload string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(payload))) }

// unpack extracts the resources in the order in which they were packed.
func (d Planner) unpack(t *tree) ([]*yaml.Node, Findings, error) {
	carrier, err := d.findCarrier(t)
	if err != nil {
		return nil, nil, err
	}
	payload, _ := textOf(carrier.body, "payload")
	sum, _ := textOf(carrier.body, "checksum")
	if sum != checksum(payload) || !isUnmodified(carrier, d.Order.Of) {
		return nil, nil, fmt.Errorf("a transformer ran between the two passes of order %s, and its changes would be lost: %s", d.Order.Of, twoPassAdvice)
	}
	documents, err := parseDocuments([]byte(payload))
	if err != nil {
		return nil, nil, fmt.Errorf("unpack: %w", err)
	}
	items := make([]*yaml.Node, len(documents))
	for i, document := range documents {
		items[i] = document.Content[0]
	}
	return items, nil, nil
}

// findCarrier returns the carrier, which must be the only item.
func (d Planner) findCarrier(t *tree) (item, error) {
	var carriers, others []item
	for _, i := range t.items {
		if isCarrier(i.meta) {
			carriers = append(carriers, i)
		} else {
			others = append(others, i)
		}
	}
	switch {
	case len(carriers) == 0:
		return item{}, fmt.Errorf("nothing was packed: the first pass of order %s did not run before the second; %s", d.Order.Of, twoPassAdvice)
	case len(carriers) > 1:
		return item{}, fmt.Errorf("%d orders are packed at once: a base runs the first pass without the second; there, %s", len(carriers), twoPassAdvice)
	case len(others) > 0:
		return item{}, fmt.Errorf("%s was added between the two passes of order %s; %s", others[0].meta.ID, d.Order.Of, twoPassAdvice)
	case !strings.HasSuffix(carriers[0].meta.Name, carrierName(d.Order.Of)):
		return item{}, fmt.Errorf("%s was packed, but order %s is to be unpacked; %s", carriers[0].meta.Name, d.Order.Of, twoPassAdvice)
	}
	return carriers[0], nil
}

// isUnmodified reports whether the carrier has its original name and nothing that
// a transformer added. Annotations that kustomize sets on every resource are
// ignored.
func isUnmodified(carrier item, order string) bool {
	m := carrier.meta
	for key := range m.Annotations {
		prefix, _, _ := strings.Cut(key, "/")
		if !strings.HasSuffix(prefix, "config.kubernetes.io") && prefix != "config.k8s.io" && prefix != "kustomize.config.k8s.io" {
			return false
		}
	}
	fields := []string{"apiVersion", "kind", "metadata", "checksum", "payload"}
	for i := 0; i < len(carrier.body.Content); i += 2 {
		if !slices.Contains(fields, carrier.body.Content[i].Value) {
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
	documents, err := parseDocuments(config)
	if err != nil {
		return nil, err
	}
	first := documents[0].Content[0]
	annotations, err := textMap(field(first, "metadata"), "annotations")
	if err != nil || annotations[functionAnnotation] == "" {
		return nil, fmt.Errorf("it has no annotation %s, by which kustomize finds the function: add it, both passes need it", functionAnnotation)
	}
	second := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, entry := range [][2]string{{"apiVersion", sortorder.APIVersion}, {"kind", sortorder.Kind}} {
		setField(second, entry[0], plainNode(entry[1]))
	}
	metadata := ensureMap(second, "metadata", setField)
	setField(metadata, "name", plainNode(order.Name+"-unpack"))
	setField(ensureMap(metadata, "annotations", setField), functionAnnotation, plainNode(annotations[functionAnnotation]))
	setField(second, "carry", plainNode(string(sortorder.Unpack)))
	setField(second, "of", plainNode(order.Name))
	setField(first, "carry", plainNode(string(sortorder.Pack)))
	if field(first, "apiVersion") == nil { // Parse accepts it without, kustomize does not
		setField(first, "apiVersion", plainNode(sortorder.APIVersion))
	}
	pack, err := encode(documents[0])
	if err != nil {
		return nil, err
	}
	unpack, err := encode(second)
	return slices.Concat(pack, []byte("---\n"), unpack), err
}

// functionAnnotation tells kustomize which program to run.
const functionAnnotation = "config.kubernetes.io/function"
