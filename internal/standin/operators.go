package standin

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
)

// operators are the controllers of a stream, each no sooner than its Pods are
// ready.
type operators struct {
	client   dynamic.Interface
	metadata metadata.Interface
	bundle   []byte
	asked    map[string]bool // CRDs whose conversion needs nothing more
}

// every is the pause between two looks of the operators.
const every = 300 * time.Millisecond

// Operate does what the operators of streams do, until ctx ends: it writes the CA
// bundles of webhooks, makes the kinds of Gatekeeper's ConstraintTemplates, reconciles
// Flux's objects, and makes the volumes of CSI drivers. The error is
// that of the kubeconfig. What the API server refuses is tried again.
func (p *Pods) Operate(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, "standin"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	o := &operators{client: client, metadata: meta, bundle: p.authority.bundle(), asked: map[string]bool{}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		o.work(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// work does what is due. An error keeps no other work from being done, and comes
// again if it stays.
func (o *operators) work(ctx context.Context) {
	_ = errors.Join(o.trustWebhooks(ctx), o.trustConversions(ctx), o.makeConstraints(ctx), o.reconcileFlux(ctx), o.provision(ctx))
}

// list reads all objects of a kind; none where it is not served.
func (o *operators) list(ctx context.Context, resource schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	found, err := o.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

// create makes an object that may be there already.
func (o *operators) create(ctx context.Context, resource schema.GroupVersionResource, object map[string]any) error {
	_, err := o.client.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// runs reports whether a Deployment has a ready Pod.
func (o *operators) runs(ctx context.Context, namespace, name string) bool {
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	live, err := o.client.Resource(deployments).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	ready, _, _ := unstructured.NestedInt64(live.Object, "status", "readyReplicas")
	return ready > 0
}

// serves reports whether a Service has a ready endpoint.
func (o *operators) serves(ctx context.Context, namespace, name string) bool {
	slices := schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	found, err := o.client.Resource(slices).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name})
	if err != nil {
		return false
	}
	for _, slice := range found.Items {
		endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
		for _, e := range endpoints {
			endpoint, _ := e.(map[string]any)
			if ready, _, _ := unstructured.NestedBool(endpoint, "conditions", "ready"); ready {
				return true
			}
		}
	}
	return false
}
