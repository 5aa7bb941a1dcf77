package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ordapply/ordapply/object"
)

// The labels and annotations of KEP-3659.
const (
	IDLabel              = "applyset.kubernetes.io/id"      // on the parent
	PartOfLabel          = "applyset.kubernetes.io/part-of" // on each member: the id of its set
	ToolingAnnotation    = "applyset.kubernetes.io/tooling"
	GroupKindsAnnotation = "applyset.kubernetes.io/contains-group-kinds"
	NamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
	// ResourcesAnnotation is the older form of GroupKindsAnnotation, with the
	// names of resources.
	ResourcesAnnotation = "applyset.kubernetes.io/contains-group-resources"
)

// Tooling is what a parent of ours says in its tooling annotation. The version
// is that of the promise, not of the program.
const Tooling = "ordapply/v1"

// Parent is the object that a set is known by, and what it promises: every
// member is of one of Kinds and in one of Namespaces, in the parent's own
// namespace, or cluster-scoped.
type Parent struct {
	ID         object.ID
	Tooling    string             // "" for one that nobody has claimed
	Kinds      []schema.GroupKind // sorted as the annotation is
	Namespaces []string           // beside the parent's own, sorted
}

// SetID is the id of the set, as KEP-3659 makes it from its parent.
func (p Parent) SetID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.ID.Name, p.ID.Namespace, p.ID.Kind, p.ID.Group}, ".")))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// Manager is the field manager that writes the members of the set, so that the
// API server itself refuses to move a member from one set to another.
func (p Parent) Manager(base string) string {
	return base + managerSuffix(p.SetID())
}

// managerSuffix tells the field managers of one set from all others.
func managerSuffix(set string) string {
	hash := strings.TrimPrefix(set, "applyset-")
	return ":" + hash[:min(12, len(hash))]
}

// ReadParent reads the promise of a live parent. An object that is no parent
// yet gives one without tooling; one of another id, or an annotation that
// cannot be read, is an error.
func ReadParent(live *unstructured.Unstructured) (Parent, error) {
	gvk := live.GroupVersionKind()
	p := Parent{ID: object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: live.GetNamespace(), Name: live.GetName()}}
	annotations := live.GetAnnotations()
	p.Tooling = annotations[ToolingAnnotation]
	if has := live.GetLabels()[IDLabel]; has != "" && has != p.SetID() {
		return p, fmt.Errorf("label %s of %s is %s, and the id that its name, namespace and kind make is %s: it was copied from another parent, or written by hand", IDLabel, p.ID, has, p.SetID())
	}
	var errs []error
	for _, text := range split(annotations[GroupKindsAnnotation]) {
		kind := schema.ParseGroupKind(text)
		if !isGroupKind(kind) {
			errs = append(errs, fmt.Errorf("annotation %s of %s: %q is no Kind.group", GroupKindsAnnotation, p.ID, text))
			continue
		}
		p.Kinds = append(p.Kinds, kind)
	}
	for _, namespace := range split(annotations[NamespacesAnnotation]) {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			errs = append(errs, fmt.Errorf("annotation %s of %s: %q is no namespace", NamespacesAnnotation, p.ID, namespace))
			continue
		}
		p.Namespaces = append(p.Namespaces, namespace)
	}
	p.tidy()
	return p, errors.Join(errs...)
}

// isGroupKind reports whether an API server can serve a kind of that name.
func isGroupKind(gk schema.GroupKind) bool {
	kind := len(validation.IsDNS1035Label(strings.ToLower(gk.Kind))) == 0
	return kind && (gk.Group == "" || len(validation.IsDNS1123Subdomain(gk.Group)) == 0)
}

// Silent tells whether a live parent does not say of which kinds its members
// are, as KEP-3659 lets it: they may then be of any.
func Silent(live *unstructured.Unstructured) bool {
	_, says := live.GetAnnotations()[GroupKindsAnnotation]
	return live.GetLabels()[IDLabel] != "" && !says
}

// Resources are those that a live parent names in the older form, as
// "deployments.apps".
func Resources(live *unstructured.Unstructured) []string {
	return split(live.GetAnnotations()[ResourcesAnnotation])
}

// Annotations are those that say what the parent promises.
func (p Parent) Annotations() map[string]string {
	kinds := make([]string, len(p.Kinds))
	for i, kind := range p.Kinds {
		kinds[i] = kind.String()
	}
	out := map[string]string{
		ToolingAnnotation:    p.Tooling,
		GroupKindsAnnotation: strings.Join(kinds, ","),
	}
	if len(p.Namespaces) > 0 {
		out[NamespacesAnnotation] = strings.Join(p.Namespaces, ",")
	}
	return out
}

// Holding is the parent with the promise that these members need, and no more.
func (p Parent) Holding(members []object.ID) Parent {
	p.Kinds, p.Namespaces = nil, nil
	return p.Widened(members)
}

// Widened is the parent with a promise that holds for these members too.
func (p Parent) Widened(members []object.ID) Parent {
	var kinds []schema.GroupKind
	var namespaces []string
	for _, id := range members {
		kinds = append(kinds, schema.GroupKind{Group: id.Group, Kind: id.Kind})
		if id.Namespace != "" && id.Namespace != p.ID.Namespace {
			namespaces = append(namespaces, id.Namespace)
		}
	}
	return p.WidenedTo(kinds, namespaces)
}

// WidenedTo is the parent with a promise that holds for these kinds and these
// namespaces too.
func (p Parent) WidenedTo(kinds []schema.GroupKind, namespaces []string) Parent {
	p.Kinds, p.Namespaces = slices.Concat(p.Kinds, kinds), slices.Concat(p.Namespaces, namespaces)
	p.tidy()
	return p
}

// Equal tells whether two parents are the same and promise the same.
func (p Parent) Equal(q Parent) bool {
	return p.ID == q.ID && p.Tooling == q.Tooling && slices.Equal(p.Kinds, q.Kinds) && slices.Equal(p.Namespaces, q.Namespaces)
}

// tidy sorts what the parent promises, as KEP-3659 wants it written.
func (p *Parent) tidy() {
	slices.SortFunc(p.Kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	p.Kinds = slices.Compact(p.Kinds)
	slices.Sort(p.Namespaces)
	p.Namespaces = slices.Compact(p.Namespaces)
}

func split(list string) []string {
	var out []string
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return out
}
