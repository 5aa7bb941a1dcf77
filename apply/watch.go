package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Watch implements Cluster: one LIST and one WATCH. client-go's reflector
// lists again after 410, a closed connection or a replaced CRD; objects are
// passed on and not kept. Where either is refused it says so and returns.
func (k *Kubernetes) Watch(ctx context.Context, kind Kind, namespace string, query Query, changed func(Change)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	resource := k.resource(kind, namespace)
	refused := func(err error) {
		if cannotWatch(err) && ctx.Err() == nil {
			changed(Change{Forbidden: err})
			stop()
		}
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = query.Labels, query.Fields
			list, err := resource.List(ctx, options)
			refused(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = query.Labels, query.Fields
			events, err := resource.Watch(ctx, options)
			refused(err)
			return events, err
		},
	}
	reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, forward(changed), cache.ReflectorOptions{
		Name: "ordapply " + kind.Resource.String(),
	})
	reflector.RunWithContext(ctx)
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
		if u, ok := obj.(*unstructured.Unstructured); ok {
			change.Objects = append(change.Objects, u)
		}
	}
	f(change)
	return nil
}
