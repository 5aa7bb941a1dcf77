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

// manifest is a storedResource that is not encoded yet.
type manifest struct {
	Object      map[string]any `json:"object"`
	Chart       string         `json:"chart,omitempty"`
	Application string         `json:"application,omitempty"`
}

// writeResources writes the manifests of the revision, sorted by ID.
func (r *Revision) writeResources(o *jsonObject) {
	var sorted []*ordering.Resource
	for i := range r.Resources {
		sorted = append(sorted, &r.Resources[i])
	}
	slices.SortFunc(sorted, func(a, b *ordering.Resource) int { return object.Compare(a.ID, b.ID) })
	writeList(o, "resources", sorted, func(resource *ordering.Resource) manifest {
		m := manifest{Object: resource.Object, Chart: resource.Chart}
		if r.Options.ApplicationOf != nil {
			m.Application = r.Options.ApplicationOf(resource.Meta)
		}
		return m
	})
}

// writeHooks writes the manifests of the hooks in the order of the stream, if there are any.
func (r *Revision) writeHooks(o *jsonObject) {
	if len(r.Hooks) > 0 {
		writeList(o, "hooks", r.Hooks, func(hook ordering.Resource) manifest {
			return manifest{Object: hook.Object, Chart: hook.Chart}
		})
	}
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
