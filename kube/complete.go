package kube

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

// The contents of a Namespace, or the objects with a label, are known only
// when discovery lists every kind. Objects of a kind that is temporarily not
// served still exist.

// CheckDiscovery returns an error unless discovery lists every kind that may have
// objects. It refreshes discovery where it does not. The error names the first
// group or kind whose objects cannot be listed, or the failed request.
func CheckDiscovery(ctx context.Context, cluster Reads) error {
	return DiscoveryCheck{Cluster: cluster}.Check(ctx)
}

// DiscoveryCheck checks that discovery lists every kind.
type DiscoveryCheck struct {
	Cluster    Reads
	Ignored    map[string]bool // APIServices to ignore, by name
	Namespaced bool            // check only namespaced kinds
}

// Check returns an error that names the first group or kind whose objects cannot be
// listed, after refreshing discovery that may be outdated.
func (c DiscoveryCheck) Check(ctx context.Context) error {
	if err := c.refreshAggregated(ctx); err != nil {
		return err
	}
	if err := c.checkUnreadable(ctx); err != nil {
		return err
	}
	return c.checkDefined(ctx)
}

// refreshAggregated refreshes discovery of the groups that APIServices delegate to
// other servers.
func (c DiscoveryCheck) refreshAggregated(ctx context.Context) error {
	if _, aggregates := c.Cluster.Kind(DefiningKinds()[1]); !aggregates {
		return nil
	}
	services, err := c.Cluster.List(ctx, DefinitionKind("apiservices"), "", Query{})
	if err != nil {
		return fmt.Errorf("list apiservices.apiregistration.k8s.io: %w", err)
	}
	for _, service := range services {
		backend, _, _ := unstructured.NestedMap(service.Object, "spec", "service")
		if backend == nil || c.Ignored[service.GetName()] {
			continue
		}
		group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(service.Object, "spec", "version")
		_ = c.Cluster.Refresh(ctx, schema.GroupVersion{Group: group, Version: version}) // checkUnreadable reports a failure
	}
	return nil
}

// checkUnreadable returns an error for a group-version whose server does not
// answer.
func (c DiscoveryCheck) checkUnreadable(ctx context.Context) error {
	for _, gv := range c.Cluster.AllUnreadable() {
		if c.Ignored[gv.Version+"."+gv.Group] {
			continue
		}
		// It may answer by now, or have been deleted. If not, that keeps the
		// Namespace; it is not an error to retry.
		_ = c.Cluster.Refresh(ctx, gv)
		if err := c.Cluster.Unreadable(gv); err != nil {
			return errors.New("the objects of " + gv.String() + ", which an APIService registers, cannot be listed: " + fault.WithoutURL(err).Error())
		}
	}
	return nil
}

// checkDefined returns an error when a CustomResourceDefinition defines a kind
// that discovery does not list and that may have objects.
func (c DiscoveryCheck) checkDefined(ctx context.Context) error {
	crds, err := c.Cluster.List(ctx, DefinitionKind("customresourcedefinitions"), "", Query{})
	if err != nil {
		return fmt.Errorf("list customresourcedefinitions.apiextensions.k8s.io: %w", err)
	}
	for _, crd := range crds {
		scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		gk := schema.GroupKind{Group: group, Kind: kind}
		if !WasServed(crd) || c.Namespaced && scope != "Namespaced" || len(c.Cluster.Versions(gk)) > 0 {
			continue
		}
		// An empty read refreshes discovery, or finds that the kind is gone.
		if err := ReadServed(ctx, c.Cluster, gk, func(schema.GroupVersionKind, Kind) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
