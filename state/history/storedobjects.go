package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// storedResource is a manifest as every format stores it.
type storedResource struct {
	Object      json.RawMessage `json:"object"`
	Chart       string          `json:"chart,omitempty"`
	Application string          `json:"application,omitempty"`
}

// storeResources encodes the manifests of the revision, sorted by ID.
func (r *Revision) storeResources() ([]storedResource, error) {
	sorted := make([]*ordering.Resource, len(r.Resources))
	for i := range r.Resources {
		sorted[i] = &r.Resources[i]
	}
	slices.SortFunc(sorted, func(a, b *ordering.Resource) int { return object.Compare(a.ID, b.ID) })
	out := slices.Grow([]storedResource(nil), len(sorted))
	for _, resource := range sorted {
		text, err := json.Marshal(resource.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", resource.ID, err)
		}
		stored := storedResource{Object: text, Chart: resource.Chart}
		if r.Options.ApplicationOf != nil {
			stored.Application = r.Options.ApplicationOf(resource.Meta)
		}
		out = append(out, stored)
	}
	return out, nil
}

// storeHooks encodes the manifests of the hooks in the order of the stream.
func (r *Revision) storeHooks() ([]storedResource, error) {
	var out []storedResource
	for _, hook := range r.Hooks {
		text, err := json.Marshal(hook.Object)
		if err != nil {
			return nil, fmt.Errorf("hook %s: %w", hook.ID, err)
		}
		out = append(out, storedResource{Object: text, Chart: hook.Chart})
	}
	return out, nil
}

// restoreHooks decodes them.
func restoreHooks(stored []storedResource) ([]ordering.Resource, error) {
	var out []ordering.Resource
	for i, s := range stored {
		hook, err := s.hook()
		if err != nil {
			return nil, fmt.Errorf("hook %d%w", i, err)
		}
		out = append(out, hook)
	}
	return out, nil
}

// ReadHooks parses the hooks of the revision as its plan has them. Hooks left out were
// reported when it was applied.
func (r *Revision) ReadHooks() hook.Hooks {
	all, _ := hook.Read(r.Hooks, r.Plan.OrderSource)
	return all
}

// resource decodes one manifest. Its error follows the name of the resource.
func (s storedResource) resource() (ordering.Resource, error) {
	r, err := s.hook()
	if err == nil && (&unstructured.Unstructured{Object: r.Object}).GetName() == "" {
		err = errNoName
	}
	return r, err
}

// hook decodes the manifest of a hook, which may have metadata.generateName in place of a name.
func (s storedResource) hook() (ordering.Resource, error) {
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(s.Object, &obj.Object); err != nil {
		return ordering.Resource{}, fmt.Errorf(": %w", err)
	}
	meta := kube.Meta(obj)
	meta.Name = cmp.Or(meta.Name, obj.GetGenerateName())
	if meta.Kind == "" || meta.Name == "" {
		return ordering.Resource{}, errNoName
	}
	return ordering.Resource{Meta: meta, Object: obj.Object, Chart: s.Chart}, nil
}

var errNoName = errors.New(" has no kind or name")
