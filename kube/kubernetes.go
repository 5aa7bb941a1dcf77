package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/object"
)

// Kubernetes implements Cluster with the clients of a kubeconfig. It is safe for
// concurrent use.
type Kubernetes struct {
	clients
	quiet      clients // without the API server's warnings
	discovery  *discovery.DiscoveryClient
	connection *connection
	*served
}

// served is what discovery has found. Workers refresh it while the loop reads.
type served struct {
	mu    sync.RWMutex
	kinds map[schema.GroupVersionKind]Kind
	// broken holds the group-versions whose discovery failed, with the error.
	broken map[schema.GroupVersion]error
}

// Connect returns a client after it has read discovery: two requests where the API
// server has aggregated discovery. Client-side rate limiting is off; API Priority
// and Fairness limits requests on the server. The error is about the
// configuration, or the API server did not answer; groups whose own server does
// not answer are no error (see Unreadable). The configuration is not changed.
func Connect(config *rest.Config) (*Kubernetes, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	connection, err := connect(config)
	if err != nil {
		return nil, err
	}
	objects, err := newClients(config, connection.shared)
	if err != nil {
		return nil, err
	}
	hasty := &http.Client{Transport: connection.shared, Timeout: cmp.Or(config.Timeout, discoveryTimeout)}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, hasty)
	if err != nil {
		return nil, err
	}
	k := &Kubernetes{
		clients: objects, quiet: connection.withoutWarnings(), discovery: disco, connection: connection,
		served: &served{kinds: map[schema.GroupVersionKind]Kind{}, broken: map[schema.GroupVersion]error{}},
	}
	return k, k.discover()
}

// Fenced implements Cluster. The transport calls the fence.
func (k *Kubernetes) Fenced(fence Fence) Cluster { return k.over(k.connection.fenced(fence)) }

// WithOwnConnection implements Cluster.
func (k *Kubernetes) WithOwnConnection() Cluster { return k.over(k.connection.own) }

// over returns a copy of the client whose requests about objects use another transport.
func (k *Kubernetes) over(transport http.RoundTripper) *Kubernetes {
	out := *k
	out.clients = k.connection.clients(transport)
	return &out
}

func (k *Kubernetes) discover() error {
	_, lists, err := k.discovery.ServerGroupsAndResources()
	if broken, ok := discovery.GroupDiscoveryFailedErrorGroups(err); ok {
		maps.Copy(k.broken, broken)
	} else if err != nil {
		return err
	}
	for _, list := range lists {
		k.addKinds(list)
	}
	return nil
}

// addKinds records the kinds of one group-version.
func (k *served) addKinds(list *metav1.APIResourceList) {
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	status := map[string]bool{}
	for _, r := range list.APIResources {
		if name, ok := strings.CutSuffix(r.Name, "/status"); ok {
			status[name] = true
		}
	}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			k.kinds[gv.WithKind(r.Kind)] = Kind{
				Resource: gv.WithResource(r.Name), Namespaced: r.Namespaced, HasStatus: status[r.Name],
				Stored: slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete"),
			}
		}
	}
}

// Kind implements Cluster.
func (k *Kubernetes) Kind(gvk schema.GroupVersionKind) (Kind, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	kind, ok := k.kinds[gvk]
	return kind, ok
}

// Versions implements Cluster.
func (k *Kubernetes) Versions(kind schema.GroupKind) []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var versions []string
	for gvk := range k.kinds {
		if gvk.GroupKind() == kind {
			versions = append(versions, gvk.Version)
		}
	}
	slices.SortFunc(versions, newestFirst)
	return versions
}

// newestFirst orders versions by Kubernetes' version priority: v2, v1,
// v1beta1.
func newestFirst(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) }

// NamespacedKinds implements Cluster. Each kind is listed in its newest
// version.
func (k *Kubernetes) NamespacedKinds() []schema.GroupVersionKind {
	return k.storedKinds(func(kind Kind) bool { return kind.Namespaced })
}

// StoredKinds implements Cluster. Each kind is listed in its newest version.
func (k *Kubernetes) StoredKinds() []schema.GroupVersionKind {
	return k.storedKinds(func(Kind) bool { return true })
}

func (k *Kubernetes) storedKinds(wanted func(Kind) bool) []schema.GroupVersionKind {
	k.mu.RLock()
	defer k.mu.RUnlock()
	newest := map[schema.GroupKind]string{}
	for gvk, kind := range k.kinds {
		best, seen := newest[gvk.GroupKind()]
		if kind.Stored && wanted(kind) && (!seen || newestFirst(gvk.Version, best) < 0) {
			newest[gvk.GroupKind()] = gvk.Version
		}
	}
	kinds := make([]schema.GroupVersionKind, 0, len(newest))
	for gk, v := range newest {
		kinds = append(kinds, gk.WithVersion(v))
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

// Unreadable implements Cluster.
func (k *Kubernetes) Unreadable(gv schema.GroupVersion) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.broken[gv]
}

// AllUnreadable implements Cluster.
func (k *Kubernetes) AllUnreadable() []schema.GroupVersion {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(k.broken), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
}

// Refresh implements Cluster. A group-version that is not served is not an
// error.
func (k *Kubernetes) Refresh(ctx context.Context, versions ...schema.GroupVersion) error {
	ctx, done := activity.Start(ctx, "reading the kinds that the API server serves")
	defer done()
	for _, gv := range versions {
		if gv.Version == "" {
			if err := k.refreshGroup(ctx, gv.Group); err != nil {
				return err
			}
			continue
		}
		list := &metav1.APIResourceList{}
		err := k.discovery.RESTClient().Get().AbsPath("/apis", gv.Group, gv.Version).Do(ctx).Into(list)
		if err != nil && fault.IsNotServed(err) {
			k.recordDiscovery(gv, nil)
			continue
		}
		k.recordDiscovery(gv, err)
		if err != nil {
			return fmt.Errorf("read discovery of %s: %w", gv, err)
		}
		list.GroupVersion = gv.String()
		k.addKinds(list)
	}
	return nil
}

// recordDiscovery records whether discovery of a group-version succeeded.
func (k *served) recordDiscovery(gv schema.GroupVersion, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.broken, gv); err != nil {
		k.broken[gv] = err
	}
}

// refreshGroup refreshes every version of a group.
func (k *Kubernetes) refreshGroup(ctx context.Context, name string) error {
	group := &metav1.APIGroup{}
	if err := k.discovery.RESTClient().Get().AbsPath("/apis", name).Do(ctx).Into(group); err != nil {
		if fault.IsNotServed(err) {
			return nil
		}
		return fmt.Errorf("read discovery of group %s: %w", name, err)
	}
	for _, v := range group.Versions {
		if err := k.Refresh(ctx, schema.GroupVersion{Group: name, Version: v.Version}); err != nil {
			return err
		}
	}
	return nil
}

// Apply implements Cluster. The API server always rejects unknown fields of a server-side apply:
// its schema has no place for them. Its field validation only parses the body a second time, to
// find keys that are written twice, which a marshalled object does not have; so it is left out.
func (k *Kubernetes) Apply(ctx context.Context, kind Kind, obj *unstructured.Unstructured, o PatchOptions) (*unstructured.Unstructured, error) {
	ctx, done := startActivity(ctx, "applying", kind, obj.GetNamespace(), obj.GetName())
	defer done()
	body, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: o.Manager, Force: &o.Force, FieldValidation: metav1.FieldValidationIgnore}
	if o.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return k.resource(kind, obj.GetNamespace()).Patch(ctx, obj.GetName(), types.ApplyPatchType, body, options)
}

// Create implements Cluster.
func (k *Kubernetes) Create(ctx context.Context, kind Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, done := startActivity(ctx, "creating", kind, obj.GetNamespace(), obj.GetName())
	defer done()
	return k.resource(kind, obj.GetNamespace()).Create(ctx, obj, metav1.CreateOptions{})
}

// DryRunCreate implements Cluster. The API server looks whether the name is taken only after
// validation and admission (Store.create in k8s.io/apiserver).
func (k *Kubernetes) DryRunCreate(ctx context.Context, kind Kind, obj *unstructured.Unstructured) error {
	ctx, done := startActivity(ctx, "dry run of the creation of", kind, obj.GetNamespace(), obj.GetName())
	defer done()
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	_, err := k.resource(kind, obj.GetNamespace()).Create(ctx, obj, options)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Update implements Cluster.
func (k *Kubernetes) Update(ctx context.Context, kind Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, done := startActivity(ctx, "updating", kind, obj.GetNamespace(), obj.GetName())
	defer done()
	return k.resource(kind, obj.GetNamespace()).Update(ctx, obj, metav1.UpdateOptions{})
}

// Release implements Cluster.
func (k *Kubernetes) Release(ctx context.Context, kind Kind, live *unstructured.Unstructured, owner string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	ctx, done := startActivity(ctx, "releasing", kind, live.GetNamespace(), live.GetName())
	defer done()
	if len(entries) == 0 { // an empty list would change nothing; this one empties it
		entries = []metav1.ManagedFieldsEntry{{}}
	}
	label := patchOp{"op": "remove", "path": "/metadata/labels/" + pointerKey(applyset.PartOfLabel)}
	if owner != "" {
		label = patchOp{"op": "replace", "path": label["path"], "value": owner}
	}
	ops := []patchOp{sameVersion(live), label, {"op": "replace", "path": "/metadata/managedFields", "value": entries}}
	if _, has := live.GetAnnotations()[applyset.AppliedAnnotation]; has {
		ops = append(ops, patchOp{"op": "remove", "path": "/metadata/annotations/" + pointerKey(applyset.AppliedAnnotation)})
	}
	return k.patchJSON(ctx, kind, live, manager, ops...)
}

// Join implements Cluster.
func (k *Kubernetes) Join(ctx context.Context, kind Kind, live *unstructured.Unstructured, set string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	ctx, done := startActivity(ctx, "applying", kind, live.GetNamespace(), live.GetName())
	defer done()
	label := patchOp{"op": "add", "path": "/metadata/labels/" + pointerKey(applyset.PartOfLabel), "value": set}
	if len(live.GetLabels()) == 0 {
		label = patchOp{"op": "add", "path": "/metadata/labels", "value": map[string]string{applyset.PartOfLabel: set}}
	}
	return k.patchJSON(ctx, kind, live, manager, sameVersion(live), label, patchOp{"op": "replace", "path": "/metadata/managedFields", "value": entries})
}

// pointerKey returns a key as a JSON pointer writes it.
func pointerKey(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// SetManagedFields implements Cluster.
func (k *Kubernetes) SetManagedFields(ctx context.Context, kind Kind, live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, manager string) error {
	_, err := k.patchJSON(ctx, kind, live, manager, sameVersion(live), patchOp{"op": "replace", "path": "/metadata/managedFields", "value": entries})
	return err
}

// patchOp is one operation of a JSON patch (RFC 6902).
type patchOp map[string]any

// sameVersion makes the API server refuse a patch with a conflict if the object has
// changed since it was read.
func sameVersion(live *unstructured.Unstructured) patchOp {
	return patchOp{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()}
}

func (k *Kubernetes) patchJSON(ctx context.Context, kind Kind, live *unstructured.Unstructured, manager string, ops ...patchOp) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	return k.resource(kind, live.GetNamespace()).Patch(ctx, live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: manager})
}

// Get implements Cluster.
func (k *Kubernetes) Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, done := startActivity(ctx, "reading", kind, namespace, name)
	defer done()
	return k.resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
}

// withContextError adds the context's error to that of a request that ended because
// of it: the decoder reports a body that was cut off as empty data.
func withContextError(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// Logs implements Cluster.
func (k *Kubernetes) Logs(ctx context.Context, pod object.ID, container string, options LogOptions) ([]string, error) {
	answer := k.discovery.RESTClient().Get().AbsPath("/api/v1/namespaces", pod.Namespace, "pods", pod.Name, "log").
		Param("container", container).Param("previous", strconv.FormatBool(options.Previous)).
		Param("tailLines", strconv.Itoa(options.Lines)).Param("limitBytes", strconv.Itoa(cmp.Or(options.Bytes, 64<<10))).Do(ctx)
	text, err := answer.Raw()
	if err != nil {
		return nil, answer.Error() // which has the server's words
	}
	if len(text) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}

// Delete implements Cluster.
func (k *Kubernetes) Delete(ctx context.Context, kind Kind, live *unstructured.Unstructured, o DeleteOptions) error {
	ctx, done := startActivity(ctx, "deleting", kind, live.GetNamespace(), live.GetName())
	defer done()
	uid, version, propagation := live.GetUID(), live.GetResourceVersion(), metav1.DeletePropagationBackground
	if o.Foreground {
		propagation = metav1.DeletePropagationForeground
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &propagation}
	if o.Unchanged {
		options.Preconditions.ResourceVersion = &version
	}
	if o.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return k.resource(kind, live.GetNamespace()).Delete(ctx, live.GetName(), options)
}

// startActivity records a request as the current activity, which is reported when the
// command's timeout expires before the answer.
func startActivity(ctx context.Context, verb string, kind Kind, namespace, name string) (context.Context, func()) {
	return activity.Start(ctx, DescribeRequest(verb, kind, namespace, name))
}

// DescribeRequest describes a request for messages, such as "reading deployments.apps
// shop/web". Namespace and name may be "".
func DescribeRequest(verb string, kind Kind, namespace, name string) string {
	text := verb + " " + kind.Resource.GroupResource().String()
	switch {
	case name != "" && namespace != "":
		text += " " + namespace + "/" + name
	case name != "":
		text += " " + name
	case namespace != "":
		text += " in namespace " + namespace
	}
	return text
}

func (c clients) metadataOf(kind Kind, namespace string) metadata.ResourceInterface {
	if kind.Namespaced {
		return c.metadata.Resource(kind.Resource).Namespace(namespace)
	}
	return c.metadata.Resource(kind.Resource)
}

func (c clients) resource(kind Kind, namespace string) dynamic.ResourceInterface {
	if kind.Namespaced {
		return c.objects.Resource(kind.Resource).Namespace(namespace)
	}
	return c.objects.Resource(kind.Resource)
}
