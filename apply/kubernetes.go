package apply

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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/object"
)

// Kubernetes is the Cluster behind a kubeconfig.
type Kubernetes struct {
	client    dynamic.Interface
	metadata  metadata.Interface
	discovery *discovery.DiscoveryClient

	mu    sync.RWMutex // workers refresh while the loop reads
	kinds map[schema.GroupVersionKind]Kind
	// broken holds the group-versions that discovery could not read, with the
	// reason.
	broken map[schema.GroupVersion]error
}

// Connect reads what the API server serves: two requests where it has
// aggregated discovery. The client's own rate limit is off; API Priority and
// Fairness limits on the server's side.
func Connect(config *rest.Config) (*Kubernetes, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	httpClient, err := httpClient(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	hasty := &http.Client{Transport: httpClient.Transport, Timeout: cmp.Or(httpClient.Timeout, discoverWithin)}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, hasty)
	if err != nil {
		return nil, err
	}
	k := &Kubernetes{client: client, metadata: meta, discovery: disco, kinds: map[schema.GroupVersionKind]Kind{}, broken: map[schema.GroupVersion]error{}}
	return k, k.discover()
}

// httpClient makes a client whose requests may have a fence, or a connection of
// their own.
func httpClient(config *rest.Config) (*http.Client, error) {
	fenced := &fences{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noting{next, fenced} })
	own := rest.CopyConfig(config)
	if config.Dial == nil {
		config.Dial, own.Dial = dial(), dial() // connections are shared by clients that have the same
	}
	config.Dial = fenced.dialer(config.Dial)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	alone, err := rest.TransportFor(own)
	if err != nil {
		return nil, err
	}
	client.Transport = lanes{shared: client.Transport, own: alone}
	return client, nil
}

func (k *Kubernetes) discover() error {
	_, lists, err := k.discovery.ServerGroupsAndResources()
	if broken, ok := discovery.GroupDiscoveryFailedErrorGroups(err); ok {
		maps.Copy(k.broken, broken)
	} else if err != nil {
		return err
	}
	for _, list := range lists {
		k.learn(list)
	}
	return nil
}

// learn records the kinds of one group-version.
func (k *Kubernetes) learn(list *metav1.APIResourceList) {
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

// newestFirst orders versions as the API server prefers them: v2, v1, v1beta1.
func newestFirst(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) }

// NamespacedKinds implements Cluster. Of several versions it takes the newest.
func (k *Kubernetes) NamespacedKinds() []schema.GroupVersionKind {
	return k.stored(func(kind Kind) bool { return kind.Namespaced })
}

// StoredKinds lists the kinds of objects that may be listed and deleted, each in
// one version, sorted. It makes no request.
func (k *Kubernetes) StoredKinds() []schema.GroupVersionKind {
	return k.stored(func(Kind) bool { return true })
}

func (k *Kubernetes) stored(wanted func(Kind) bool) []schema.GroupVersionKind {
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

// Refresh implements Cluster. A group-version that is not served yet is no
// error.
func (k *Kubernetes) Refresh(ctx context.Context, versions ...schema.GroupVersion) error {
	ctx, done := activity.Start(ctx, "reading which kinds the API server serves")
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
		if err != nil && notServed(err) {
			k.readable(gv, nil)
			continue
		}
		k.readable(gv, err)
		if err != nil {
			return fmt.Errorf("read discovery of %s: %w", gv, err)
		}
		list.GroupVersion = gv.String()
		k.learn(list)
	}
	return nil
}

// readable records whether discovery could read a group-version.
func (k *Kubernetes) readable(gv schema.GroupVersion, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.broken, gv); err != nil {
		k.broken[gv] = err
	}
}

// refreshGroup asks discovery for every version of a group.
func (k *Kubernetes) refreshGroup(ctx context.Context, name string) error {
	group := &metav1.APIGroup{}
	if err := k.discovery.RESTClient().Get().AbsPath("/apis", name).Do(ctx).Into(group); err != nil {
		if notServed(err) {
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

// Apply implements Cluster. Unknown fields are refused, as kubectl does.
func (k *Kubernetes) Apply(ctx context.Context, kind Kind, obj *unstructured.Unstructured, o PatchOptions) (*unstructured.Unstructured, error) {
	ctx, done := doing(ctx, "applying", kind, obj.GetNamespace(), obj.GetName())
	defer done()
	body, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: o.Manager, Force: &o.Force, FieldValidation: metav1.FieldValidationStrict}
	if o.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return k.resource(kind, obj.GetNamespace()).Patch(ctx, obj.GetName(), types.ApplyPatchType, body, options)
}

// Create stores a new object; an error when there is one of its name.
func (k *Kubernetes) Create(ctx context.Context, kind Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, done := doing(ctx, "creating", kind, obj.GetNamespace(), obj.GetName())
	defer done()
	return k.resource(kind, obj.GetNamespace()).Create(ctx, obj, metav1.CreateOptions{})
}

// Update replaces an object; an error when it is no longer the version that it
// was read as.
func (k *Kubernetes) Update(ctx context.Context, kind Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, done := doing(ctx, "updating", kind, obj.GetNamespace(), obj.GetName())
	defer done()
	return k.resource(kind, obj.GetNamespace()).Update(ctx, obj, metav1.UpdateOptions{})
}

// Unlabel takes a label from an object; a conflict when it is no longer the
// version that it was read as.
func (k *Kubernetes) Unlabel(ctx context.Context, kind Kind, live *unstructured.Unstructured, label, manager string) error {
	ctx, done := doing(ctx, "taking a label from", kind, live.GetNamespace(), live.GetName())
	defer done()
	patch, err := json.Marshal([]map[string]string{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
		{"op": "remove", "path": "/metadata/labels/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(label)},
	})
	if err != nil {
		return err
	}
	_, err = k.patchJSON(ctx, kind, live, patch, manager)
	return err
}

// SetManagedFields changes who owns which fields of an object; a conflict when it
// is no longer the version that it was read as.
func (k *Kubernetes) SetManagedFields(ctx context.Context, kind Kind, live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, manager string) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
	})
	if err != nil {
		return err
	}
	_, err = k.patchJSON(ctx, kind, live, patch, manager)
	return err
}

func (k *Kubernetes) patchJSON(ctx context.Context, kind Kind, live *unstructured.Unstructured, patch []byte, manager string) (*unstructured.Unstructured, error) {
	return k.resource(kind, live.GetNamespace()).Patch(ctx, live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: manager})
}

// Get implements Cluster.
func (k *Kubernetes) Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, done := doing(ctx, "reading", kind, namespace, name)
	defer done()
	return k.resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
}

// List implements Cluster.
func (k *Kubernetes) List(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error) {
	ctx, done := doing(ctx, "listing", kind, namespace, "")
	defer done()
	if query.Metadata {
		return k.listMetadata(ctx, kind, namespace, query)
	}
	list, err := k.resource(kind, namespace).List(ctx, metav1.ListOptions{LabelSelector: query.Labels, FieldSelector: query.Fields, Limit: query.Limit})
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return objects, nil
}

// cutShort is the error of a request that ended because its context did: the decoder
// reports an answer of which nothing had come yet as empty data.
func cutShort(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// listMetadata reads what metadata there is, as objects that hold no more.
func (k *Kubernetes) listMetadata(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error) {
	list, err := k.metadataOf(kind, namespace).List(ctx, metav1.ListOptions{LabelSelector: query.Labels, FieldSelector: query.Fields, Limit: query.Limit})
	if err != nil {
		return nil, cutShort(ctx, err)
	}
	objects := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&list.Items[i])
		if err != nil {
			return nil, err
		}
		objects[i] = &unstructured.Unstructured{Object: fields}
	}
	return objects, nil
}

// Logs implements Cluster.
func (k *Kubernetes) Logs(ctx context.Context, pod object.ID, container string, options LogOptions) ([]string, error) {
	text, err := k.discovery.RESTClient().Get().AbsPath("/api/v1/namespaces", pod.Namespace, "pods", pod.Name, "log").
		Param("container", container).Param("previous", strconv.FormatBool(options.Previous)).
		Param("tailLines", strconv.Itoa(options.Lines)).Param("limitBytes", "65536").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}

// HasEndpoints implements Cluster.
func (k *Kubernetes) HasEndpoints(ctx context.Context, service object.ID) (bool, error) {
	slices, err := k.List(ctx, endpointSlices(), service.Namespace, watchKey{service: service.Name}.query())
	if err != nil {
		return false, err
	}
	for _, slice := range slices {
		if hasReadyEndpoint(slice) {
			return true, nil
		}
	}
	return false, nil
}

// Delete implements Cluster.
func (k *Kubernetes) Delete(ctx context.Context, kind Kind, live *unstructured.Unstructured, o DeleteOptions) error {
	ctx, done := doing(ctx, "deleting", kind, live.GetNamespace(), live.GetName())
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

// Migrate implements Cluster. The PATCH holds the resourceVersion of live, so
// that it changes nothing when another manager was faster.
func (k *Kubernetes) Migrate(ctx context.Context, kind Kind, live *unstructured.Unstructured, predecessors []string, manager string) error {
	ctx, done := doing(ctx, "taking over the fields of", kind, live.GetNamespace(), live.GetName())
	defer done()
	in := inherit(live, predecessors, applyset.Claimants(live), manager)
	if !in.Changes {
		return nil
	}
	return k.SetManagedFields(ctx, kind, live, in.Entries, manager)
}

// clientSideManagers are the field managers of kubectl's client-side apply.
func clientSideManagers() sets.Set[string] {
	return sets.New("kubectl-client-side-apply", applyset.BeforeFirstApply)
}

// doing notes a request, in case the time of the command is over before its answer.
func doing(ctx context.Context, verb string, kind Kind, namespace, name string) (context.Context, func()) {
	return activity.Start(ctx, actionText(verb, kind, namespace, name))
}

// actionText names a request, such as "reading deployments.apps shop/web".
func actionText(verb string, kind Kind, namespace, name string) string {
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

func (k *Kubernetes) metadataOf(kind Kind, namespace string) metadata.ResourceInterface {
	if kind.Namespaced {
		return k.metadata.Resource(kind.Resource).Namespace(namespace)
	}
	return k.metadata.Resource(kind.Resource)
}

func (k *Kubernetes) resource(kind Kind, namespace string) dynamic.ResourceInterface {
	if kind.Namespaced {
		return k.client.Resource(kind.Resource).Namespace(namespace)
	}
	return k.client.Resource(kind.Resource)
}
