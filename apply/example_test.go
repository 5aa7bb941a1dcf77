package apply_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/testcluster"
	"github.com/ordapply/ordapply/ordering"
)

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
	//   CustomResourceDefinition widgets.example.com  prerequisite: no selector matches it, and CRDs and Namespaces go first
	// wave 2/2
	//   Widget.example.com shop/one                   crd: its kind is made by CustomResourceDefinition widgets.example.com, ready
}

// Applying takes the cluster of a kubeconfig. Events tell what happens while it does,
// and the summary how each resource ended.
func ExampleApplier_Run() {
	rules := clientcmd.NewDefaultClientConfigLoadingRules() // KUBECONFIG, or ~/.kube/config
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := apply.Connect(config)
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
		Events:  func(e apply.Event) { fmt.Println(e.ID, e.State, e.Detail) },
	}
	ctx := apply.WithRetries(context.Background(), func(r apply.Retry) { fmt.Println("retry", r.Attempt, "of", r.Of, "in", r.Pause, r.Cause) })
	summary, err := applier.Run(ctx, plan, stream.Objects)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Count(apply.Ready), "ready")
}

// The example applies what it says.
func TestDocumentedRun(t *testing.T) {
	cluster := testcluster.Start(t, "--light")
	t.Setenv("KUBECONFIG", cluster.Kubeconfig)
	ExampleApplier_Run()
	require.Equal(t, "b", cluster.Kubectl(t, "get", "configmap", "library-example", "-n", "default", "-o", "jsonpath={.data.a}"))
}
