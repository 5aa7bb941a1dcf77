package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Accounts that may read Secrets in the history's namespace may read the revisions. So a
// revision has no values of Secrets of other namespaces: these are kept in one Secret in
// their own namespace, under a key for each deployed revision, and the revision has their
// digest.

// Keep selects the values of Secrets to keep.
type Keep string

// The values of Keep.
const (
	KeepInNamespace Keep = "namespace" // in the namespace of their Secret; also ""
	KeepNone        Keep = "none"      // none: a rollback leaves Secrets as they are
)

// notKept is the digest of values that are not kept.
const notKept = "none"

// valuesLabel is on the Secret that keeps values, and has the id of the set.
const valuesLabel = "ordapply.dev/values-of"

// secretValues are the values of a Secret.
type secretValues struct {
	Data       map[string]any `json:"data,omitempty"`
	StringData map[string]any `json:"stringData,omitempty"`
}

// withheld are the values that a revision does not have itself, by namespace and name.
type withheld map[string]map[string]secretValues

// KeepingNote names the Secrets that keep values which the revision does not contain itself;
// "" where there are none.
func (h History) KeepingNote(r Revision) string {
	_, values := h.separate(r)
	if h.Keep == KeepNone || len(values) == 0 {
		return ""
	}
	var at []string
	for _, namespace := range slices.Sorted(maps.Keys(values)) {
		at = append(at, "Secret "+namespace+"/"+ValuesName(h.Parent.ID))
	}
	return fmt.Sprintf("for a rollback, values of Secrets are kept in their own namespaces, in %s; --history-secrets=none keeps none", strings.Join(plain.Sample(at, 5, "and %d more", func(s string) string { return s }), ", "))
}

// separate returns the revision without the values of Secrets that it may not contain, and
// these.
func (h History) separate(r Revision) (Revision, withheld) {
	values := withheld{}
	r.Resources, r.Hooks = h.withoutValues(r.Resources, values), h.withoutValues(r.Hooks, values)
	return r, values
}

// withoutValues returns the resources themselves if they have no such values.
func (h History) withoutValues(resources []ordering.Resource, values withheld) []ordering.Resource {
	out := resources
	for i, resource := range resources {
		if !isSecret(resource.ID) || h.Keep != KeepNone && resource.ID.Namespace == h.namespace() {
			continue
		}
		data, _ := resource.Object["data"].(map[string]any)
		text, _ := resource.Object["stringData"].(map[string]any)
		if len(data) == 0 && len(text) == 0 {
			continue
		}
		if values[resource.ID.Namespace] == nil {
			values[resource.ID.Namespace] = map[string]secretValues{}
		}
		values[resource.ID.Namespace][resource.ID.Name] = secretValues{data, text}
		if &out[0] == &resources[0] {
			out = slices.Clone(resources)
		}
		out[i].Object = maps.Clone(resource.Object)
		delete(out[i].Object, "data")
		delete(out[i].Object, "stringData")
	}
	return out
}

func isSecret(id object.ID) bool { return id.Group == "" && id.Kind == "Secret" }

// packed returns the values of each namespace as they are kept.
func (w withheld) packed() map[string][]byte {
	out := map[string][]byte{}
	for namespace, byName := range w {
		text, err := json.Marshal(byName)
		if err != nil {
			panic(err) // manifests were decoded from JSON
		}
		var data bytes.Buffer
		zipped := gzip.NewWriter(&data)
		_, _ = zipped.Write(text) // a Buffer returns no error
		_ = zipped.Close()
		out[namespace] = data.Bytes()
	}
	return out
}

// digests returns the digest of the values of each namespace, for the revision.
func (h History) digests(values withheld) map[string]string {
	out := map[string]string{}
	for namespace, data := range values.packed() {
		if out[namespace] = dataDigest(data); h.Keep == KeepNone {
			out[namespace] = notKept
		}
	}
	return out
}

// keepValues adds the values of a deployed revision to the kept values of other stored
// revisions. Values that cannot be kept are no error: a rollback leaves their Secrets as they
// are.
func (h History) keepValues(ctx context.Context, n int, values withheld, stored Index) {
	if h.Keep == KeepNone {
		return
	}
	packed := values.packed()
	for _, namespace := range slices.Sorted(maps.Keys(packed)) {
		if err := h.changeValues(ctx, namespace, func(kept map[string]any) {
			maps.DeleteFunc(kept, func(key string, _ any) bool { return !stored.has(key) })
			kept[valuesKey(n)] = base64.StdEncoding.EncodeToString(packed[namespace])
			dropOldest(kept, n)
		}); err != nil && h.OnNote != nil {
			h.OnNote(fmt.Sprintf("values of Secrets in namespace %s are not kept in the history, so that a rollback leaves these Secrets as they are: %v", namespace, err))
		}
	}
}

// has reports whether a key is that of a stored revision.
func (s Index) has(key string) bool {
	return slices.ContainsFunc(s.entries, func(e Entry) bool { return valuesKey(e.Number) == key })
}

func valuesKey(n int) string { return "v" + strconv.Itoa(n) }

// dropOldest removes the values of the oldest revisions until the others fit into one Secret.
func dropOldest(kept map[string]any, newest int) {
	size := func() (total int) {
		for _, text := range kept {
			total += len(fmt.Sprint(text))
		}
		return total * 3 / 4 // base64
	}
	for n := 1; n < newest && size() > chunkSize; n++ {
		delete(kept, valuesKey(n))
	}
}

// errNoValues reports a Secret that has the name of kept values and was not made to keep them.
var errNoValues = errors.New("exists and keeps no values of this set: delete it, or give it another name")

// changeValues changes the Secret in a namespace that keeps values, and deletes it when it
// keeps none any more.
func (h History) changeValues(ctx context.Context, namespace string, change func(kept map[string]any)) error {
	kind, name := kube.CoreKind("secrets"), ValuesName(h.Parent.ID)
	live, err := h.Cluster.Get(ctx, kind, namespace, name)
	exists := err == nil
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case !h.isValues(live):
		return fmt.Errorf("Secret %s/%s %w", namespace, name, errNoValues)
	}
	kept := map[string]any{}
	if exists {
		data, _, _ := unstructured.NestedMap(live.Object, "data")
		maps.Copy(kept, data)
	}
	change(kept)
	switch {
	case len(kept) == 0 && !exists:
		return nil
	case len(kept) == 0:
		return h.remove(ctx, live)
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": secretType, "data": kept,
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{valuesLabel: h.Parent.SetID()}},
	}}
	_, err = h.Cluster.Apply(ctx, kind, body, kube.PatchOptions{Manager: "ordapply", Force: true})
	return err
}

// ValuesName returns the name of the Secrets that keep values of a set's Secrets.
func ValuesName(parent object.ID) string {
	sum := sha256.Sum256([]byte(applyset.Parent{ID: parent}.SetID()))
	return "ordapply-values." + applyset.ShortName(parent.Name) + "." + hex.EncodeToString(sum[:4])
}

func (h History) isValues(secret *unstructured.Unstructured) bool {
	return secret.GetLabels()[valuesLabel] == h.Parent.SetID()
}

// forgetValues removes the values of a revision that is deleted.
func (h History) forgetValues(ctx context.Context, e Entry) error {
	for _, namespace := range e.values {
		err := h.changeValues(ctx, namespace, func(kept map[string]any) { delete(kept, valuesKey(e.Number)) })
		if err != nil && !kube.IsGone(err) && !errors.Is(err, errNoValues) {
			return h.wrapError(fmt.Sprintf("delete the values of revision %d from namespace %s", e.Number, namespace), err)
		}
	}
	return nil
}

// fillValues adds the values that a revision does not contain itself. Secrets whose values
// were not kept, or were changed since, are left as they are by a run of the revision.
func (h History) fillValues(ctx context.Context, r *Revision) error {
	for _, namespace := range slices.Sorted(maps.Keys(r.values)) {
		kept, why, err := h.readValues(ctx, namespace, r)
		if err != nil {
			return h.wrapError(fmt.Sprintf("read revision %d", r.Number), err)
		}
		var left []object.ID
		for _, resources := range [][]ordering.Resource{r.Resources, r.Hooks} {
			for i, resource := range resources {
				values, has := kept[resource.ID.Name]
				switch {
				case !isSecret(resource.ID) || resource.ID.Namespace != namespace:
				case has:
					values.addTo(resource.Object)
				case why != "":
					resources[i] = leftAlone(resource)
					left = append(left, resource.ID)
				}
			}
		}
		for _, id := range left {
			r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("%s keeps its present values, because %s: apply its stream instead to change them", id, why))
		}
	}
	return nil
}

// readValues returns the values that a namespace keeps for a revision, by name of the Secret,
// or why it keeps none.
func (h History) readValues(ctx context.Context, namespace string, r *Revision) (map[string]secretValues, string, error) {
	digest := r.values[namespace]
	if digest == notKept {
		return nil, fmt.Sprintf("revision %d was stored without values of Secrets", r.Number), nil
	}
	gone := fmt.Sprintf("namespace %s does not keep the values of revision %d", namespace, r.Number)
	live, err := h.Cluster.Get(ctx, kube.CoreKind("secrets"), namespace, ValuesName(h.Parent.ID))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, gone, nil
	case err != nil:
		return nil, "", err
	}
	kept, _, _ := unstructured.NestedStringMap(live.Object, "data")
	data := keptAs(kept, digest)
	switch {
	case data == nil && kept[valuesKey(r.stored)] == "":
		return nil, gone, nil
	case data == nil:
		return nil, fmt.Sprintf("the values that namespace %s keeps for revision %d were changed", namespace, r.Number), nil
	}
	var out map[string]secretValues
	plain, err := unzip(data, limits.RevisionText)
	if err == nil {
		err = json.Unmarshal(plain, &out)
	}
	return out, "", err
}

// keptAs returns the kept values with a digest, whichever revision they are kept for: a
// rollback that was not completed has its target's. It returns nil if there are none.
func keptAs(kept map[string]string, digest string) []byte {
	for _, text := range kept {
		if data, err := base64.StdEncoding.DecodeString(text); err == nil && dataDigest(data) == digest {
			return data
		}
	}
	return nil
}

// addTo adds the values to the manifest of their Secret.
func (v secretValues) addTo(manifest map[string]any) {
	if len(v.Data) > 0 {
		manifest["data"] = runtime.DeepCopyJSONValue(v.Data)
	}
	if len(v.StringData) > 0 {
		manifest["stringData"] = runtime.DeepCopyJSONValue(v.StringData)
	}
}

// leftAlone returns a resource whose object a run does not write.
func leftAlone(resource ordering.Resource) ordering.Resource {
	obj := (&unstructured.Unstructured{Object: resource.Object}).DeepCopy()
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[applyset.ValuesAnnotation] = applyset.ValuesNotKept
	obj.SetAnnotations(annotations)
	resource.Object, resource.Annotations = obj.Object, annotations
	return resource
}
