package fn

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// pack sorts and stamps the items and puts them into one carrier.
func (d Planner) pack(list *sdk.ResourceList, items items) Output {
	for _, m := range items.metas {
		if m.Annotations[stamp.KustomizeID] == "" && !isCarrier(m) {
			return d.failed(fmt.Errorf("carry: pack is for kustomize build, but %s does not come from it: use the order without carry", m.ID))
		}
	}
	decision := d.decide(items.metas)
	if decision.Findings.Failed() {
		return Output{Findings: decision.Findings}
	}
	if err := items.change(list, decision); err != nil {
		return d.failed(err)
	}
	var documents []edit.Text
	for _, body := range bodies(list.Items...) {
		text, err := tree.Encode(body)
		if err != nil {
			return d.failed(err)
		}
		documents = append(documents, edit.Text{text})
	}
	payload := string(edit.Join(documents, nil).Joined())
	carrier := sdk.NewEmptyKubeObject()
	err := errors.Join(
		carrier.SetAPIVersion(sortorder.APIVersion),
		carrier.SetKind(carrierKind),
		carrier.SetName(carrierName(d.Order.Name)),
		carrier.SetNestedString(checksum(payload), "checksum"),
		carrier.SetNestedString(payload, "payload"),
	)
	if err != nil {
		return d.failed(err)
	}
	list.Items = sdk.KubeObjects{carrier}
	return Output{Findings: decision.Findings, changed: true}
}

func checksum(payload string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(payload))) }

// unpack extracts the items in the order in which they were packed.
func (d Planner) unpack(list *sdk.ResourceList, items items) Output {
	carrier, err := d.findCarrier(items.metas)
	if err != nil {
		return d.failed(err)
	}
	body := items.bodies[carrier]
	payload, _ := tree.TextOf(body, "payload")
	sum, _ := tree.TextOf(body, "checksum")
	if sum != checksum(payload) || !isUnmodified(items.metas[carrier], body, d.Order.Of) {
		return d.failed(fmt.Errorf("a transformer ran between the two passes of order %s, and its changes would be lost: %s", d.Order.Of, twoPassAdvice))
	}
	unpacked, err := sdk.ParseKubeObjects([]byte(payload))
	if err != nil {
		return d.failed(fmt.Errorf("unpack: %w", err))
	}
	list.Items = unpacked
	return Output{changed: true}
}

// findCarrier returns the index of the carrier, which must be the only item.
func (d Planner) findCarrier(metas []object.Meta) (int, error) {
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
	second := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	tree.SetField(second, "apiVersion", tree.Plain(sortorder.APIVersion))
	tree.SetField(second, "kind", tree.Plain(sortorder.Kind))
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
