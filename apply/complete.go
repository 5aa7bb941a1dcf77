package apply

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
)

// The contents of a Namespace, or the objects with a label, are known only
// when discovery lists every kind. Objects of a kind that is temporarily not
// served still exist.

// CheckDiscovery returns an error unless discovery lists every kind that may have
// objects. It refreshes discovery where it does not. The error names the first
// group or kind whose objects cannot be listed, or what could not be read.
func CheckDiscovery(ctx context.Context, cluster kube.Cluster) error {
	return discoveryCheck{cluster: cluster}.check(ctx)
}

// discoveryCheck checks that discovery lists every kind.
type discoveryCheck struct {
	cluster    kube.Cluster
	ignored    map[string]bool // APIServices to ignore, by name
	namespaced bool            // check only namespaced kinds
}

func (c discoveryCheck) check(ctx context.Context) error {
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
func (c discoveryCheck) refreshAggregated(ctx context.Context) error {
	if _, aggregates := c.cluster.Kind(definingKinds()[1]); !aggregates {
		return nil
	}
	services, err := c.cluster.List(ctx, definitionKind("apiservices"), "", kube.Query{})
	if err != nil {
		return fmt.Errorf("list apiservices.apiregistration.k8s.io: %w", err)
	}
	for _, service := range services {
		backend, _, _ := unstructured.NestedMap(service.Object, "spec", "service")
		if backend == nil || c.ignored[service.GetName()] {
			continue
		}
		group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(service.Object, "spec", "version")
		_ = c.cluster.Refresh(ctx, schema.GroupVersion{Group: group, Version: version}) // checkUnreadable reports a failure
	}
	return nil
}

// checkUnreadable returns an error for a group-version whose server does not
// answer.
func (c discoveryCheck) checkUnreadable(ctx context.Context) error {
	for _, gv := range c.cluster.AllUnreadable() {
		if c.ignored[gv.Version+"."+gv.Group] {
			continue
		}
		// It may answer by now, or have been deleted. If not, that keeps the
		// Namespace; it is not an error to retry.
		_ = c.cluster.Refresh(ctx, gv)
		if err := c.cluster.Unreadable(gv); err != nil {
			return errors.New("the objects of " + gv.String() + ", which an APIService registers, cannot be listed: " + kubeerr.WithoutURL(err).Error())
		}
	}
	return nil
}

// checkDefined returns an error when a CustomResourceDefinition defines a kind
// that discovery does not list and that may have objects.
func (c discoveryCheck) checkDefined(ctx context.Context) error {
	crds, err := c.cluster.List(ctx, definitionKind("customresourcedefinitions"), "", kube.Query{})
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
		// An empty read refreshes discovery, or finds that the kind is gone.
		if err := ReadServed(ctx, c.cluster, gk, func(schema.GroupVersionKind, kube.Kind) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
