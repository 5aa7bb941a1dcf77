// Package observer is a watch that is independent of ordapply's. It has its own
// readiness rules, so that an error in ordapply's rules cannot go unnoticed.
//
//	o, err := observer.Start(ctx, kubeconfig)
//	version, ok := o.ReadyAt(auditlog.Key{Resource: "jobs", Namespace: "shop", Name: "migrate"})
package observer

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/test/auditlog"
)

// Observer watches the kinds that Watched lists, or all kinds that become ready.
type Observer struct {
	cancel    context.CancelFunc
	informers dynamicinformer.DynamicSharedInformerFactory
	all       bool // also watch kinds of CRDs
	mu        sync.Mutex
	ready     map[auditlog.Key]Sight // of the first version that was ready
	last      time.Time              // of the last sight
}

// Sight is a version of an object, and when the watch saw it.
type Sight struct {
	auditlog.Version
	Seen time.Time
}

// Watched returns the kinds whose readiness is more than existence.
func Watched() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	}
}

// others returns the other kinds of Kubernetes that become ready.
func others() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Version: "v1", Resource: "pods"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	}
}

// Judged reports whether StartAll judges the objects of a resource of Kubernetes by their
// status. Custom resources are judged if they get one.
func Judged(group, resource string) bool {
	return slices.ContainsFunc(append(Watched(), others()...), func(r schema.GroupVersionResource) bool { return r.Group == group && r.Resource == resource })
}

// Start watches the kinds that Watched lists. It returns when each watch has listed the
// current state.
func Start(ctx context.Context, kubeconfig string) (*Observer, error) {
	return start(ctx, kubeconfig, Watched(), false)
}

// StartAll watches all kinds of Kubernetes that become ready, and those of CRDs as soon as
// they are served.
func StartAll(ctx context.Context, kubeconfig string) (*Observer, error) {
	return start(ctx, kubeconfig, append(Watched(), others()...), true)
}

func start(ctx context.Context, kubeconfig string, resources []schema.GroupVersionResource, all bool) (*Observer, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, "observer"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &Observer{cancel: cancel, informers: dynamicinformer.NewDynamicSharedInformerFactory(client, 0), all: all, ready: map[auditlog.Key]Sight{}}
	for _, resource := range resources {
		informer, err := o.watch(ctx, resource)
		if err != nil {
			cancel()
			return nil, err
		}
		cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	}
	return o, nil
}

// watch opens the watch of a resource.
func (o *Observer) watch(ctx context.Context, resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
	informer := o.informers.ForResource(resource).Informer()
	see := func(obj any) { o.see(ctx, resource, obj) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }}); err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	return informer, nil
}

func (o *Observer) see(ctx context.Context, resource schema.GroupVersionResource, obj any) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || !isReady(resource, u) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	k := auditlog.Key{Resource: resource.Resource, Namespace: u.GetNamespace(), Name: u.GetName()}
	if _, seen := o.ready[k]; seen {
		return
	}
	o.last = time.Now()
	o.ready[k] = Sight{auditlog.Version{Key: k, ResourceVersion: u.GetResourceVersion()}, o.last}
	if o.all && resource.Resource == "customresourcedefinitions" {
		if served, ok := servedBy(u); ok {
			_, _ = o.watch(ctx, served) // fails only for an informer that was stopped
		}
	}
}

// servedBy returns the resource that a CRD serves, in the first version of its list.
func servedBy(crd *unstructured.Unstructured) (schema.GroupVersionResource, bool) {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(crd.Object, fields...)
		return s
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			name, _ := v["name"].(string)
			return schema.GroupVersionResource{Group: text("spec", "group"), Version: name, Resource: text("spec", "names", "plural")}, true
		}
	}
	return schema.GroupVersionResource{}, false
}

// Stop waits for the last events and stops the watches.
func (o *Observer) Stop() {
	time.Sleep(300 * time.Millisecond)
	o.cancel()
}

// ReadyAt returns the first version of an object that was ready.
func (o *Observer) ReadyAt(k auditlog.Key) (auditlog.Version, bool) {
	sight, ok := o.Seen(k)
	return sight.Version, ok
}

// Seen returns the first sight of an object that was ready.
func (o *Observer) Seen(k auditlog.Key) (Sight, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sight, ok := o.ready[k]
	return sight, ok
}

// Last returns when an object was first seen ready for the last time.
func (o *Observer) Last() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// isReady judges an object by its status fields.
func isReady(resource schema.GroupVersionResource, u *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, fields...)
		return n
	}
	replicas, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	current := number("status", "observedGeneration") >= u.GetGeneration()
	switch {
	case !Judged(resource.Group, resource.Resource):
		return customIsReady(u)
	case resource.Resource == "deployments":
		return current && number("status", "updatedReplicas") == replicas && number("status", "availableReplicas") == replicas
	case resource.Resource == "statefulsets":
		return current && number("status", "updatedReplicas") == replicas && number("status", "readyReplicas") == replicas
	case resource.Resource == "daemonsets":
		nodes := number("status", "desiredNumberScheduled")
		return current && number("status", "updatedNumberScheduled") == nodes && number("status", "numberAvailable") == nodes
	case resource.Resource == "jobs":
		return condition(u, "Complete")
	case resource.Resource == "pods":
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return phase == "Succeeded" || condition(u, "Ready")
	case resource.Resource == "apiservices":
		return condition(u, "Available")
	case resource.Group == "admissionregistration.k8s.io":
		return isTrusted(u)
	default:
		return condition(u, "Established")
	}
}

// customIsReady judges a custom resource: it has a status, and if this has conditions, one of
// the usual ones is true.
func customIsReady(u *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	if conditions, _ := status["conditions"].([]any); len(conditions) > 0 {
		return slices.ContainsFunc([]string{"Ready", "Available", "Completed", "Succeeded", "Healthy"}, func(name string) bool { return condition(u, name) })
	}
	return len(status) > 0
}

// isTrusted judges the configuration of admission webhooks: the API server can verify each of them that
// a Service serves, because its CA bundle is set.
func isTrusted(u *unstructured.Unstructured) bool {
	webhooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	return !slices.ContainsFunc(webhooks, func(w any) bool {
		webhook, _ := w.(map[string]any)
		client, _, _ := unstructured.NestedMap(webhook, "clientConfig")
		return client["service"] != nil && client["caBundle"] == nil
	})
}

func condition(u *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name && c["status"] == "True" {
			return true
		}
	}
	return false
}
