package apply_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Objects resolves namespaces, plans, applies in waves and waits: the Deployment follows the
// ConfigMap that it uses, and both follow their Namespace.
func ExampleObjects() {
	var objects []*unstructured.Unstructured
	for _, text := range []string{
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: web, envFrom: [{configMapRef: {name: web}}]}]}}}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {color: green}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			log.Fatal(err)
		}
		objects = append(objects, object)
	}
	cluster := memcluster.NewControlled() // in place of kube.Connect(config)
	cluster.Lists = true                  // watches begin with what is there, as on an API server
	cluster.Statuses["Deployment"] = map[time.Duration]map[string]any{time.Millisecond: {
		"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
		"conditions": []any{memcluster.Condition("Available", "True")},
	}}
	summary, err := apply.Objects(context.Background(), cluster, objects, apply.Options{
		Namespace: "shop",
		Manager:   "my-tool",
		Timeout:   10 * time.Second,
		Events: func(e event.Event) {
			if e.ID.Name != "" && e.State.Final() {
				fmt.Println(e.ID, e.State)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Counts().Text(nil))
	// Output:
	// Namespace shop ready
	// ConfigMap shop/web ready
	// Deployment shop/web ready
	// 3 ready
}

// Planning needs no cluster: the custom resource waits for its definition.
func ExampleStream_Plan() {
	var inputs []apply.Input
	for _, text := range []string{
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}," +
			" spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true}]}}",
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			log.Fatal(err)
		}
		inputs = append(inputs, apply.Input{Object: object})
	}
	stream, err := apply.NewStream(inputs, apply.Scope{Namespace: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := stream.Plan(ordering.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := plan.WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// wave 1/2 (prerequisites)
	//   CustomResourceDefinition widgets.example.com  prerequisite: CRDs and Namespaces go first
	// wave 2/2
	//   Widget.example.com shop/one                   after CustomResourceDefinition widgets.example.com is ready (its kind is provided by it)
}

// Run applies to the cluster of a kubeconfig. Events report the progress, and
// the summary the result of each resource.
func ExampleApplier_Run() {
	rules := clientcmd.NewDefaultClientConfigLoadingRules() // KUBECONFIG, or ~/.kube/config
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := kube.Connect(config)
	if err != nil {
		log.Fatal(err)
	}
	settings := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "library-example"}, "data": map[string]any{"a": "b"},
	}}
	stream, err := apply.NewStream([]apply.Input{{Object: settings}}, apply.Scope{Namespace: "default", Kind: cluster.Kind})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := stream.Plan(ordering.Options{})
	if err != nil {
		log.Fatal(err)
	}
	applier := apply.Applier{
		Cluster: cluster,
		Manager: "library-example",
		Events:  func(e event.Event) { fmt.Println(e.ID, e.State, e.Detail) },
	}
	ctx := kube.WithRetries(context.Background(), func(r kube.Retry) { fmt.Println("retry", r.Attempt, "of", r.Of, "in", r.Pause, r.Cause) })
	summary, err := applier.Run(ctx, plan, stream.Objects)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Count(event.Ready), "ready")
}

// A preview writes nothing: it sends server-side dry runs of changes.
func ExampleApplier_Preview() {
	var (
		ctx     = context.Background()
		cluster kube.Cluster   // of kube.Connect
		stream  *apply.Stream  // of apply.NewStream
		plan    *ordering.Plan // of stream.Plan
	)
	preview, err := apply.Applier{Cluster: cluster}.Preview(ctx, plan, stream.Objects)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range preview.Rows {
		fmt.Println(row.Action, row.ID, row.Detail)
	}
	if err := preview.Err(); err != nil {
		log.Fatal("the run would fail: ", err)
	}
}

// A controller calls Run again and again, and each call returns at once.
func ExampleApplier_Run_onePass() {
	var (
		ctx     = context.Background()
		cluster kube.Cluster   // of kube.Connect
		stream  *apply.Stream  // of apply.NewStream
		plan    *ordering.Plan // of stream.Plan
	)
	summary, err := apply.Applier{Cluster: cluster, OnePass: true}.Run(ctx, plan, stream.Objects)
	if err != nil {
		log.Fatal(err) // of resources that failed; waiting is no error
	}
	for _, r := range summary.Results {
		if r.State == event.Unsettled || r.State == event.NotStarted {
			fmt.Println(r.ID, "waits:", r.Waiting, r.Detail) // Deployment shop/web waits: Readiness 1 of 3 replicas are ready
		}
	}
}

// The example does what it says.
func TestDocumentedRun(t *testing.T) {
	cluster := testcluster.Start(t, "--light")
	t.Setenv("KUBECONFIG", cluster.Kubeconfig)
	ExampleApplier_Run()
	require.Equal(t, "b", cluster.Kubectl(t, "get", "configmap", "library-example", "-n", "default", "-o", "jsonpath={.data.a}"))
}
