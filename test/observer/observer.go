// Package observer is a watch that is independent of ordapply's. It has its own
// readiness rules, so that an error in ordapply's rules cannot go unnoticed.
//
//	o, err := observer.Start(ctx, kubeconfig)
//	version, ok := o.ReadyAt(auditlog.Key{Resource: "jobs", Namespace: "shop", Name: "migrate"})
package observer

import (
	"context"
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

// Observer watches the kinds that Watched lists.
type Observer struct {
	cancel context.CancelFunc
	mu     sync.Mutex
	ready  map[auditlog.Key]string // the first resourceVersion that was ready
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

// Start opens the watches and returns when each has listed the current state.
func Start(ctx context.Context, kubeconfig string) (*Observer, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &Observer{cancel: cancel, ready: map[auditlog.Key]string{}}
	informers := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	for _, resource := range Watched() {
		informer := informers.ForResource(resource).Informer()
		if _, err := informer.AddEventHandler(o.handler(resource)); err != nil {
			cancel()
			return nil, err
		}
		go informer.RunWithContext(ctx)
		cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	}
	return o, nil
}

func (o *Observer) handler(resource schema.GroupVersionResource) cache.ResourceEventHandler {
	see := func(obj any) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok || !isReady(resource.Resource, u) {
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		k := auditlog.Key{Resource: resource.Resource, Namespace: u.GetNamespace(), Name: u.GetName()}
		if _, seen := o.ready[k]; !seen {
			o.ready[k] = u.GetResourceVersion()
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }}
}

// Stop waits for the last events and stops the watches.
func (o *Observer) Stop() {
	time.Sleep(300 * time.Millisecond)
	o.cancel()
}

// ReadyAt returns the first version of an object that was ready.
func (o *Observer) ReadyAt(k auditlog.Key) (auditlog.Version, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rv, ok := o.ready[k]
	return auditlog.Version{Key: k, ResourceVersion: rv}, ok
}

// isReady judges an object by its status fields.
func isReady(resource string, u *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, fields...)
		return n
	}
	replicas, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	current := number("status", "observedGeneration") >= u.GetGeneration()
	switch resource {
	case "deployments":
		return current && number("status", "updatedReplicas") == replicas && number("status", "availableReplicas") == replicas
	case "statefulsets":
		return current && number("status", "updatedReplicas") == replicas && number("status", "readyReplicas") == replicas
	case "jobs":
		return condition(u, "Complete")
	default:
		return condition(u, "Established")
	}
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
