package apply

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
)

// Watch implements Cluster: one LIST and one WATCH. client-go's reflector
// lists again after 410, a closed connection or a replaced CRD; objects are
// passed on and not kept. Where either is refused it says so and returns.
func (k *Kubernetes) Watch(ctx context.Context, kind Kind, namespace string, query Query, changed func(Change)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	source, what := k.source(kind, namespace, query)
	lost, reached := false, true
	tried := func(err error) {
		if reached = err == nil; !reached && ctx.Err() == nil {
			lost = true
			reportRetry(ctx, Retry{Of: actionText("watching", kind, namespace, ""), Cause: inWords(err)})
			changed(Change{Lost: err})
		}
	}
	answered := func(err error) {
		switch {
		case ctx.Err() != nil:
		case cannotWatch(err):
			changed(Change{Forbidden: err})
			stop()
		case err != nil:
			lost = true
			reportRetry(ctx, Retry{Of: actionText("watching", kind, namespace, ""), Cause: inWords(err)})
			changed(Change{Lost: err})
		case lost && reached:
			lost = false
			changed(Change{Back: true})
		}
	}
	heard := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = query.Labels, query.Fields
			list, err := source.ListWithContext(onAttempt(ctx, tried), options)
			answered(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = query.Labels, query.Fields
			events, err := source.WatchWithContext(onAttempt(ctx, tried), options)
			answered(err)
			return events, err
		},
	}
	reflector := cache.NewReflectorWithOptions(heard, what, forward(changed), cache.ReflectorOptions{
		Name:    "ordapply " + kind.Resource.String(),
		Backoff: &wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}, // somebody waits
	})
	reflector.RunWithContext(ctx)
}

// source is where a watch gets its objects from, and what they are.
func (k *Kubernetes) source(kind Kind, namespace string, query Query) (cache.ListerWatcherWithContext, runtime.Object) {
	if query.Metadata {
		client := k.metadataOf(kind, namespace)
		return listWatch(client.List, client.Watch), &metav1.PartialObjectMetadata{}
	}
	client := k.resource(kind, namespace)
	return listWatch(client.List, client.Watch), &unstructured.Unstructured{}
}

// listWatch is a client's List and Watch as package cache wants them.
func listWatch[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error), watch cache.WatchFuncWithContext) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, options)
		},
		WatchFuncWithContext: watch,
	}
}

// cannotWatch recognises an answer that will not change: it is not allowed, or
// the kind's own API server cannot do it, or not by name.
func cannotWatch(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsBadRequest(err)
}

// forward is a reflector's store that keeps nothing.
type forward func(Change)

func (f forward) Add(obj any) error    { return f.send(Change{}, obj) }
func (f forward) Update(obj any) error { return f.send(Change{}, obj) }
func (f forward) Delete(obj any) error { return f.send(Change{Deleted: true}, obj) }
func (f forward) Resync() error        { return nil }

// Replace takes the answer to a LIST.
func (f forward) Replace(objects []any, _ string) error {
	return f.send(Change{Listed: true}, objects...)
}

func (f forward) send(change Change, objects ...any) error {
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
