package recreate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/kube"
)

// The API server validates and admits a new object before it looks whether the name is taken.
// So a dry run of the creation under the object's own name proves more than one under
// another: names may be bound by the kind (a CustomResourceDefinition's is its plural and
// group), by policies, and by the rights of the account.

// DryRunCreate returns the error with which the API server would reject a body as the new
// object in place of a live one. It changes the body.
func DryRunCreate(ctx context.Context, cluster Cluster, kind kube.Kind, body, live *unstructured.Unstructured) error {
	releaseAllocations(body, live)
	_, err := kube.WithRetry(ctx, kube.DescribeRequest("dry run of the creation of", kind, body.GetNamespace(), body.GetName()), func() (struct{}, error) {
		return struct{}{}, cluster.DryRunCreate(ctx, kind, body)
	})
	if err != nil {
		err = redact.Error(body, err)
	}
	return err
}

// areAddressesFree returns an error if another Service holds a cluster IP that a Service asks
// for: a dry run allocates none. API servers before 1.33 have no object for an address.
func (c Check) areAddressesFree(ctx context.Context, body, live *unstructured.Unstructured) error {
	kind, served := kube.KindsOf(c.Cluster)(schema.GroupVersionKind{Group: "networking.k8s.io", Kind: "IPAddress"})
	if !served || body.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return nil
	}
	held := addresses(live)
	for _, address := range addresses(body) {
		if slices.Contains(held, address) {
			continue
		}
		found, err := c.Cluster.Get(ctx, kind, "", address)
		switch {
		case kube.IsGone(err):
		case err != nil:
			return fmt.Errorf("read whether the cluster IP %s is free: %w", address, err)
		default:
			namespace, _, _ := unstructured.NestedString(found.Object, "spec", "parentRef", "namespace")
			name, _, _ := unstructured.NestedString(found.Object, "spec", "parentRef", "name")
			return fmt.Errorf("the cluster IP %s is allocated to Service %s/%s", address, namespace, name)
		}
	}
	return nil
}

// addresses lists the cluster IPs that a Service holds or asks for.
func addresses(service *unstructured.Unstructured) []string {
	all, _, _ := unstructured.NestedStringSlice(service.Object, "spec", "clusterIPs")
	first, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
	all = append(all, first)
	return slices.DeleteFunc(all, func(address string) bool { return address == "" || address == "None" })
}

// releaseAllocations removes from a Service the addresses and node ports that the live one
// holds. The deletion releases them; until then the API server refuses them to any other.
func releaseAllocations(body, live *unstructured.Unstructured) {
	if body.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return
	}
	spec, _, _ := unstructured.NestedMap(live.Object, "spec")
	wanted, _ := body.Object["spec"].(map[string]any)
	if wanted == nil || spec == nil {
		return
	}
	if address := wanted["clusterIP"]; address != "None" && address == spec["clusterIP"] {
		delete(wanted, "clusterIP")
	}
	if addresses, _ := wanted["clusterIPs"].([]any); wanted["clusterIP"] == nil && len(addresses) > 0 && addresses[0] != "None" {
		delete(wanted, "clusterIPs")
	}
	if wanted["healthCheckNodePort"] == spec["healthCheckNodePort"] {
		delete(wanted, "healthCheckNodePort")
	}
	held := map[any]bool{}
	eachPort(spec, func(port map[string]any) { held[port["nodePort"]] = true })
	eachPort(wanted, func(port map[string]any) {
		if held[port["nodePort"]] {
			delete(port, "nodePort")
		}
	})
}

func eachPort(spec map[string]any, do func(port map[string]any)) {
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if port, ok := port.(map[string]any); ok {
			do(port)
		}
	}
}
