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

// operators are the controllers of a stream; each acts once its Pods are ready.
type operators struct {
	client   dynamic.Interface
	metadata metadata.Interface
	bundle   []byte
	asked    map[string]bool // CRDs whose conversion webhook is set up
}

// roundInterval is the interval between two rounds.
const roundInterval = 300 * time.Millisecond

// Operate acts as the operators of streams until ctx is done: it sets the CA
// bundles of webhooks, creates the kinds of Gatekeeper's ConstraintTemplates,
// reconciles Flux's objects, and provisions the volumes of CSI drivers. It
// returns errors of the kubeconfig only. Requests that the API server rejects
// are retried.
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
	tick := time.NewTicker(roundInterval)
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

// work runs one round. An error does not stop other work and recurs if it
// persists.
func (o *operators) work(ctx context.Context) {
	_ = errors.Join(o.trustWebhooks(ctx), o.trustConversions(ctx), o.makeConstraints(ctx), o.reconcileFlux(ctx), o.provision(ctx))
}

// list returns all objects of a kind; none if it is not served.
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

// create creates an object that may exist already.
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
