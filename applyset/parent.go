package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ordapply/ordapply/object"
)

// Labels and annotations of KEP-3659.
const (
	IDLabel              = "applyset.kubernetes.io/id"                    // on the parent: the ID of the set
	PartOfLabel          = "applyset.kubernetes.io/part-of"               // on each member: the ID of its set
	ToolingAnnotation    = "applyset.kubernetes.io/tooling"               // on the parent: the tool that keeps the set, and its version
	GroupKindsAnnotation = "applyset.kubernetes.io/contains-group-kinds"  // on the parent: Kind.group, comma-separated
	NamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces" // on the parent: all but its own, comma-separated
	// ResourcesAnnotation is the older form of GroupKindsAnnotation, with
	// resource names.
	ResourcesAnnotation = "applyset.kubernetes.io/contains-group-resources"
)

// Tooling is the value of the tooling annotation of our parents. Its version is
// that of the format, not of the program.
const Tooling = "ordapply/v1"

// Parent is the parent object of a set with its lists: every member is of one
// of Kinds, and in one of Namespaces, in the parent's namespace, or
// cluster-scoped.
type Parent struct {
	ID         object.ID          // of the object itself
	Tooling    string             // "" if no tool has claimed the object
	Kinds      []schema.GroupKind // sorted as in the annotation
	Namespaces []string           // without the parent's own, sorted
}

// SetID returns the ID of the set, which KEP-3659 derives from its parent: a hash
// of name, namespace, kind and group.
func (p Parent) SetID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.ID.Name, p.ID.Namespace, p.ID.Kind, p.ID.Group}, ".")))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// Argument returns how commands name the set: NAME of a Secret, else KIND/NAME.
func (p Parent) Argument() string {
	if p.ID.GroupKind() == "Secret" {
		return p.ID.Name
	}
	return strings.ToLower(p.ID.GroupKind()) + "/" + p.ID.Name
}

// Manager returns the field manager for members of the set. It differs between
// sets, so that the API server reports a conflict if a member moves to another
// set.
func (p Parent) Manager(base string) string {
	return base + managerSuffix(p.SetID())
}

// managerSuffix distinguishes the field managers of one set from others.
func managerSuffix(set string) string {
	hash := strings.TrimPrefix(set, "applyset-")
	return ":" + hash[:min(12, len(hash))]
}

// ShortName returns a name of which there is room for a prefix and a suffix: a long
// one is cut and ends with a hash.
func ShortName(name string) string {
	if len(name) <= 180 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:150] + "-" + hex.EncodeToString(sum[:8])
}

// ReadParent reads a live parent. An object that is not a parent yet has no
// Tooling. An IDLabel that is not SetID is an error, and so is an annotation that
// cannot be parsed; the error then joins all of these, and the parent has the rest.
func ReadParent(live *unstructured.Unstructured) (Parent, error) {
	gvk := live.GroupVersionKind()
	p := Parent{ID: object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: live.GetNamespace(), Name: live.GetName()}}
	annotations := live.GetAnnotations()
	p.Tooling = annotations[ToolingAnnotation]
	if has := live.GetLabels()[IDLabel]; has != "" && has != p.SetID() {
		return p, fmt.Errorf("label %s of %s is %s, but its name, namespace and kind give the ID %s: the label was copied from another parent or written by hand", IDLabel, p.ID, has, p.SetID())
	}
	var errs []error
	for _, text := range split(annotations[GroupKindsAnnotation]) {
		kind := schema.ParseGroupKind(text)
		if !isGroupKind(kind) {
			errs = append(errs, fmt.Errorf("annotation %s of %s: %q is not a Kind.group", GroupKindsAnnotation, p.ID, text))
			continue
		}
		p.Kinds = append(p.Kinds, kind)
	}
	for _, namespace := range split(annotations[NamespacesAnnotation]) {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			errs = append(errs, fmt.Errorf("annotation %s of %s: %q is not a namespace name", NamespacesAnnotation, p.ID, namespace))
			continue
		}
		p.Namespaces = append(p.Namespaces, namespace)
	}
	p.tidy()
	return p, errors.Join(errs...)
}

// isGroupKind reports whether an API server can serve a kind with this name.
func isGroupKind(gk schema.GroupKind) bool {
	kind := len(validation.IsDNS1035Label(strings.ToLower(gk.Kind))) == 0
	return kind && (gk.Group == "" || len(validation.IsDNS1123Subdomain(gk.Group)) == 0)
}

// MissingGroupKinds reports whether a live parent has no list of kinds, as KEP-3659
// permits. Its members may then be of any kind.
func MissingGroupKinds(live *unstructured.Unstructured) bool {
	_, says := live.GetAnnotations()[GroupKindsAnnotation]
	return live.GetLabels()[IDLabel] != "" && !says
}

// Resources returns the resources that a live parent lists in the older form,
// such as "deployments.apps".
func Resources(live *unstructured.Unstructured) []string {
	return split(live.GetAnnotations()[ResourcesAnnotation])
}

// Annotations returns the annotations by which the parent lists its members.
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

// ForMembers returns the parent with exactly the kinds and namespaces of these
// members.
func (p Parent) ForMembers(members []object.ID) Parent {
	p.Kinds, p.Namespaces = nil, nil
	return p.WithMembers(members)
}

// WithMembers returns the parent with the kinds and namespaces of these members
// added.
func (p Parent) WithMembers(members []object.ID) Parent {
	kinds, namespaces := map[schema.GroupKind]bool{}, map[string]bool{}
	for _, id := range members {
		kinds[schema.GroupKind{Group: id.Group, Kind: id.Kind}] = true
		if id.Namespace != "" && id.Namespace != p.ID.Namespace {
			namespaces[id.Namespace] = true
		}
	}
	return p.WithKindsAndNamespaces(slices.Collect(maps.Keys(kinds)), slices.Collect(maps.Keys(namespaces)))
}

// WithKindsAndNamespaces returns the parent with these kinds and namespaces added.
func (p Parent) WithKindsAndNamespaces(kinds []schema.GroupKind, namespaces []string) Parent {
	p.Kinds, p.Namespaces = slices.Concat(p.Kinds, kinds), slices.Concat(p.Namespaces, namespaces)
	p.tidy()
	return p
}

// Equal reports whether two parents list the same; it compares all fields.
func (p Parent) Equal(q Parent) bool {
	return p.ID == q.ID && p.Tooling == q.Tooling && slices.Equal(p.Kinds, q.Kinds) && slices.Equal(p.Namespaces, q.Namespaces)
}

// tidy sorts the lists as KEP-3659 requires.
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
