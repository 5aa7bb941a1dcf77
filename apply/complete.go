package apply

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What a Namespace holds, or what carries a label, is known only when discovery
// lists every kind. Objects of a kind that is not served for the moment exist all
// the same.

// CompleteDiscovery is an error unless discovery lists every kind that may have
// objects. It asks again where it does not.
func CompleteDiscovery(ctx context.Context, cluster Cluster) error {
	return completeness{cluster: cluster}.check(ctx)
}

// completeness checks what discovery lists.
type completeness struct {
	cluster    Cluster
	without    map[string]bool // APIServices that do not count, by name
	namespaced bool            // only kinds of objects that live in a namespace count
}

func (c completeness) check(ctx context.Context) error {
	if err := c.servers(ctx); err != nil {
		return err
	}
	if err := c.unreadable(ctx); err != nil {
		return err
	}
	return c.defined(ctx)
}

// servers reads what other servers serve, to which APIServices hand groups.
func (c completeness) servers(ctx context.Context) error {
	if _, aggregates := c.cluster.Kind(definitions()[1]); !aggregates {
		return nil
	}
	services, err := c.cluster.List(ctx, definitionKind("apiservices"), "", Query{})
	if err != nil {
		return fmt.Errorf("list apiservices.apiregistration.k8s.io: %w", err)
	}
	for _, service := range services {
		backend, _, _ := unstructured.NestedMap(service.Object, "spec", "service")
		if backend == nil || c.without[service.GetName()] {
			continue
		}
		group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(service.Object, "spec", "version")
		_ = c.cluster.Refresh(ctx, schema.GroupVersion{Group: group, Version: version}) // unreadable says why it failed
	}
	return nil
}

// unreadable names a group-version that what serves it does not answer for.
func (c completeness) unreadable(ctx context.Context) error {
	for _, gv := range c.cluster.AllUnreadable() {
		if c.without[gv.Version+"."+gv.Group] {
			continue
		}
		// By now it may answer, or be gone; if not, that is no trouble to try
		// again: it keeps the Namespace.
		_ = c.cluster.Refresh(ctx, gv)
		if err := c.cluster.Unreadable(gv); err != nil {
			return errors.New("the objects of " + gv.String() + ", which an APIService registers, cannot be listed: " + brief(err).Error())
		}
	}
	return nil
}

// defined is an error when a CustomResourceDefinition defines a kind that
// discovery does not list and that may have objects.
func (c completeness) defined(ctx context.Context) error {
	crds, err := c.cluster.List(ctx, definitionKind("customresourcedefinitions"), "", Query{})
	if err != nil {
		return fmt.Errorf("list customresourcedefinitions.apiextensions.k8s.io: %w", err)
	}
	for _, crd := range crds {
		scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		gk := schema.GroupKind{Group: group, Kind: kind}
		if !wasServed(crd) || c.namespaced && scope != "Namespaced" || len(c.cluster.Versions(gk)) > 0 {
			continue
		}
		// Reading nothing lets discovery learn of the kind, or finds that it is gone.
		if err := ReadServed(ctx, c.cluster, gk, func(schema.GroupVersionKind, Kind) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
