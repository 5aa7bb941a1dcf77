package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

// Watch implements Cluster with one LIST and one WATCH. client-go's reflector
// lists again after 410, a closed connection or a replaced CRD; objects are
// passed on and not cached: there is no informer, and there are no tombstones. Where LIST or WATCH
// is refused, Watch reports Forbidden and returns.
func (k *Kubernetes) Watch(ctx context.Context, kind Kind, namespace string, query Query, changed func(WatchEvent)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lost, reached := false, true
	disconnected := func(err error) {
		lost = true
		ReportRetry(ctx, Retry{Of: DescribeRequest("watching", kind, namespace, ""), Cause: fault.TimeoutInWords(err)})
		changed(WatchEvent{Disconnected: err})
	}
	tried := func(err error) {
		if reached = err == nil; !reached && ctx.Err() == nil {
			disconnected(err)
		}
	}
	source, what := k.connection.clients(watchTransport{k.connection.shared, tried}).listerWatcher(kind, namespace, query)
	answered := func(err error) {
		switch {
		case ctx.Err() != nil:
		case cannotWatch(err):
			changed(WatchEvent{Forbidden: err})
			stop()
		case err != nil && reached: // tried has reported any other
			disconnected(err)
		case err == nil && lost && reached:
			lost = false
			changed(WatchEvent{Reconnected: true})
		}
	}
	heard := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = query.Labels, query.Fields
			list, err := source.ListWithContext(ctx, options)
			answered(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = query.Labels, query.Fields
			events, err := source.WatchWithContext(ctx, options)
			answered(err)
			return events, err
		},
	}
	reflector := cache.NewReflectorWithOptions(heard, what, reflectorStore(changed), cache.ReflectorOptions{
		Name:    "ordapply " + kind.Resource.String(),
		Backoff: watchBackoff(),
	})
	reflector.RunWithContext(ctx)
}

// watchBackoff returns the pauses before a watch is opened again. A run is waiting, and the API
// server ends the watches of a custom kind when its CRD changes, as when an operator sets the CA
// bundle of its conversion webhook: the first pauses are short.
func watchBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}
}

// listerWatcher returns the client of a watch, and the type of its objects.
func (c clients) listerWatcher(kind Kind, namespace string, query Query) (cache.ListerWatcherWithContext, runtime.Object) {
	if query.Metadata {
		client := c.metadataOf(kind, namespace)
		return listWatch(client.List, client.Watch), &metav1.PartialObjectMetadata{}
	}
	client := c.resource(kind, namespace)
	return listWatch(client.List, client.Watch), &unstructured.Unstructured{}
}

// listWatch adapts a client's List and Watch to package cache.
func listWatch[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error), watch cache.WatchFuncWithContext) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, options)
		},
		WatchFuncWithContext: watch,
	}
}

// cannotWatch reports whether an error is permanent: watching is forbidden,
// or the kind's API server does not support it, or not by name.
func cannotWatch(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsBadRequest(err)
}

// reflectorStore is a reflector's store that passes changes on and keeps nothing.
type reflectorStore func(WatchEvent)

func (f reflectorStore) Add(obj any) error    { return f.send(WatchEvent{}, obj) }
func (f reflectorStore) Update(obj any) error { return f.send(WatchEvent{}, obj) }
func (f reflectorStore) Delete(obj any) error { return f.send(WatchEvent{Deleted: true}, obj) }
func (f reflectorStore) Resync() error        { return nil }

// Replace passes on the answer to a LIST.
func (f reflectorStore) Replace(objects []any, _ string) error {
	return f.send(WatchEvent{Listed: true}, objects...)
}

func (f reflectorStore) send(change WatchEvent, objects ...any) error {
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *unstructured.Unstructured:
			change.Objects = append(change.Objects, obj)
		case *metav1.PartialObjectMetadata:
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				return err
			}
			change.Objects = append(change.Objects, &unstructured.Unstructured{Object: fields})
		}
	}
	f(change)
	return nil
}
