package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/object"
)

// A kind that discovery does not list may still have objects: its
// CustomResourceDefinition may serve no version at the moment, the API server
// may have just started, or discovery may be older than the kind. A kind has
// no objects only when refreshed discovery does not list it and neither a
// CustomResourceDefinition nor an APIService of another server defines it.

// discoveryPropagation bounds the wait for a kind whose CustomResourceDefinition says
// that it is served. An API server that has just started lists it a second
// later.
const discoveryPropagation = 10 * time.Second

// UnservedError reports that it is unknown whether objects of a kind exist.
type UnservedError struct {
	Kind schema.GroupKind
	Why  error // why the API server does not serve it, or why that is unknown
	// transient is set when the cause is expected to be transient.
	transient bool
}

// Error names the kind and the cause.
func (e *UnservedError) Error() string {
	return fmt.Sprintf("the API server does not serve %s now, but its objects may still exist: %v", e.Kind, e.Why)
}

// Unwrap returns the cause.
func (e *UnservedError) Unwrap() error { return e.Why }

// ReadServed calls read with each version in which the API server serves a
// kind, preferred ones first, until one of the calls is answered: a version to which a
// conversion webhook cannot convert is not. It returns
// the error of read; nil without an answer when the kind cannot have objects;
// and an *UnservedError when that is unknown. Where a definition says that the
// kind is served, it waits up to 10s for discovery to list it.
func ReadServed(ctx context.Context, cluster Reads, gk schema.GroupKind, read func(schema.GroupVersionKind, Kind) error, preferred ...string) error {
	began := time.Now()
	for n := 1; ; n++ {
		versions := cluster.Versions(gk)
		answered, err := readAnyVersion(cluster, gk, append(slices.Clone(preferred), versions...), read)
		if answered {
			return err
		}
		err = ConfirmGone(ctx, cluster, gk)
		if !slices.Equal(versions, cluster.Versions(gk)) { // discovery has learned of a version
			continue
		}
		unserved, unknown := errors.AsType[*UnservedError](err)
		pause := fault.Backoff(n)
		if !unknown || !unserved.transient || time.Since(began)+pause > discoveryPropagation {
			return err
		}
		ReportRetry(ctx, Retry{Of: "find out whether the API server serves " + gk.String(), Attempt: n, Pause: pause, Cause: fault.TimeoutInWords(unserved.Why)})
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// readAnyVersion calls read with these versions, as far as they are served, until one of
// the calls is answered. It returns false when none of them was; where a version could
// not be converted, its error is the answer then.
func readAnyVersion(cluster Reads, gk schema.GroupKind, versions []string, read func(schema.GroupVersionKind, Kind) error) (answered bool, err error) {
	var unconverted error
	for _, version := range versions {
		gvk := gk.WithVersion(version)
		kind, served := cluster.Kind(gvk)
		if !served {
			continue
		}
		switch err := read(gvk, kind); {
		case fault.IsNotServed(err):
		case !fault.IsConversionFailure(err):
			return true, err
		case unconverted == nil:
			unconverted = err
		}
	}
	return unconverted != nil, unconverted
}

// ConfirmGone returns nil when a kind that the API server did not serve a
// moment ago cannot have objects, and otherwise an *UnservedError.
func ConfirmGone(ctx context.Context, cluster Reads, gk schema.GroupKind) error {
	if err := refreshGroupDiscovery(ctx, cluster, gk.Group); err != nil {
		return &UnservedError{Kind: gk, Why: err, transient: fault.RetryBudget(err) > 0}
	}
	if err := groupError(cluster, gk.Group); err != nil {
		return &UnservedError{Kind: gk, Why: err}
	}
	if object.IsNative(gk.Group) {
		return confirmBuiltinGone(ctx, cluster, gk)
	}
	if err := checkUndefined(ctx, cluster, gk); err != nil {
		return err
	}
	return checkNotAggregated(ctx, cluster, gk)
}

// confirmBuiltinGone returns nil when the API server serves a built-in group without
// the kind: the cluster was upgraded to a version that removed it. A group
// that has an APIService and is not listed at all is not served yet.
func confirmBuiltinGone(ctx context.Context, cluster Reads, gk schema.GroupKind) error {
	switch {
	case len(cluster.Versions(gk)) > 0:
		return &UnservedError{Kind: gk, Why: errors.New("discovery lists the kind, but a request for it returned a bare 404: check for a proxy between you and the API server"), transient: true}
	case isBuiltinGroupListed(cluster, gk.Group):
		return nil
	}
	services := DefinitionKind("apiservices")
	found, err := cluster.List(ctx, services, "", Query{})
	if err != nil {
		return definitionReadError(gk, services, err)
	}
	for _, service := range found {
		if group, _, _ := unstructured.NestedString(service.Object, "spec", "group"); group == gk.Group {
			return &UnservedError{Kind: gk, Why: errors.New("discovery does not list its group yet: the API server may have just started"), transient: true}
		}
	}
	return nil
}

// isBuiltinGroupListed reports whether discovery lists a kind of a built-in group.
func isBuiltinGroupListed(cluster Reads, group string) bool {
	inNoNamespace := map[string]string{
		"admissionregistration.k8s.io": "ValidatingWebhookConfiguration", "apiextensions.k8s.io": "CustomResourceDefinition",
		"apiregistration.k8s.io": "APIService", "certificates.k8s.io": "CertificateSigningRequest",
		"flowcontrol.apiserver.k8s.io": "FlowSchema", "node.k8s.io": "RuntimeClass", "scheduling.k8s.io": "PriorityClass",
	}
	if kind := inNoNamespace[group]; kind != "" {
		return len(cluster.Versions(schema.GroupKind{Group: group, Kind: kind})) > 0
	}
	return slices.ContainsFunc(cluster.NamespacedKinds(), func(gvk schema.GroupVersionKind) bool { return gvk.Group == group })
}

// refreshGroupDiscovery refreshes discovery of a group. The core group is not refreshed: no
// CustomResourceDefinition adds to it.
func refreshGroupDiscovery(ctx context.Context, cluster Reads, group string) error {
	if group == "" {
		return nil
	}
	for _, gv := range cluster.AllUnreadable() {
		if gv.Group == group {
			_ = cluster.Refresh(ctx, gv) // Unreadable keeps the error
		}
	}
	err := cluster.Refresh(ctx, schema.GroupVersion{Group: group})
	if err != nil && groupError(cluster, group) != nil {
		return nil // groupError has the cause
	}
	return err
}

// groupError returns the error with which discovery of a version of a
// group failed; nil when none did.
func groupError(cluster Reads, group string) error {
	for _, gv := range cluster.AllUnreadable() {
		if err := cluster.Unreadable(gv); gv.Group == group && err != nil {
			return fmt.Errorf("the backend of %s does not answer: %w; check its APIService (kubectl describe apiservice %s.%s)", gv, fault.WithoutURL(err), gv.Version, gv.Group)
		}
	}
	return nil
}

// checkUndefined returns nil when no CustomResourceDefinition defines a kind.
func checkUndefined(ctx context.Context, cluster Reads, gk schema.GroupKind) error {
	crds := DefinitionKind("customresourcedefinitions")
	found, err := cluster.List(ctx, crds, "", Query{Metadata: true})
	if err != nil {
		return definitionReadError(gk, crds, err)
	}
	for _, listed := range found {
		if _, group, _ := strings.Cut(listed.GetName(), "."); group != gk.Group {
			continue
		}
		crd, err := cluster.Get(ctx, crds, "", listed.GetName())
		switch {
		case IsGone(err):
		case err != nil:
			return definitionReadError(gk, crds, err)
		case definesKind(crd, gk.Kind):
			return unservedBy(ctx, cluster, gk, crd)
		}
	}
	return nil
}

// definitionReadError returns the error for definitions of kinds that cannot be
// read.
func definitionReadError(gk schema.GroupKind, kind Kind, err error) error {
	what := kind.Resource.GroupResource().String()
	why := fmt.Errorf("%s cannot be read: %w", what, fault.WithoutURL(err))
	if apierrors.IsForbidden(err) {
		why = fmt.Errorf("%w; grant get and list on %s to the account in your kubeconfig, or use an account that has them", why, what)
	}
	return &UnservedError{Kind: gk, Why: why, transient: fault.RetryBudget(err) > 0}
}

// definesKind reports whether a live CustomResourceDefinition defines a kind
// of its group.
func definesKind(crd *unstructured.Unstructured, kind string) bool {
	wanted, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	accepted, _, _ := unstructured.NestedString(crd.Object, "status", "acceptedNames", "kind")
	return kind == wanted || kind == accepted
}

// unservedBy returns why the kind of a live CustomResourceDefinition is not
// served.
func unservedBy(ctx context.Context, cluster Reads, gk schema.GroupKind, crd *unstructured.Unstructured) error {
	unserved := &UnservedError{Kind: gk}
	name := crd.GetName()
	refused := status.Condition(status.Status(crd), "NamesAccepted")
	crd.SetGroupVersionKind(DefiningKinds()[0])
	kinds := DefinedKinds(crd)
	switch {
	case crd.GetDeletionTimestamp() != nil:
		unserved.Why, unserved.transient = fmt.Errorf("CustomResourceDefinition %s is being deleted%s", name, DeletionBlockers(crd)), true
	case len(kinds) == 0:
		unserved.Why = fmt.Errorf("CustomResourceDefinition %s serves no version: set served: true for one of them (kubectl edit crd %s)", name, name)
	case refused["status"] == "False":
		unserved.Why = fmt.Errorf("CustomResourceDefinition %s is not established: %v", name, refused["message"])
	case !WasServed(crd):
		unserved.Why, unserved.transient = fmt.Errorf("CustomResourceDefinition %s is not established yet", name), true
	default:
		unserved.Why, unserved.transient = fmt.Errorf("CustomResourceDefinition %s serves %s, and the API server does not answer for that yet: it may have just started; run this again", name, kinds[0].Version), true
		for _, gvk := range kinds {
			if err := cluster.Refresh(ctx, gvk.GroupVersion()); err != nil {
				unserved.Why = err
			}
		}
	}
	return unserved
}

// checkNotAggregated returns nil when no APIService delegates the group of a kind to
// another server.
func checkNotAggregated(ctx context.Context, cluster Reads, gk schema.GroupKind) error {
	services := DefinitionKind("apiservices")
	if _, aggregates := cluster.Kind(DefiningKinds()[1]); !aggregates {
		return nil // this API server delegates nothing
	}
	found, err := cluster.List(ctx, services, "", Query{})
	if err != nil {
		return definitionReadError(gk, services, err)
	}
	for _, service := range found {
		group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
		backend, _, _ := unstructured.NestedMap(service.Object, "spec", "service")
		if group == gk.Group && backend != nil {
			return &UnservedError{Kind: gk, Why: fmt.Errorf("APIService %s delegates its group to Service %v/%v, which does not list the kind now (kubectl describe apiservice %s)",
				service.GetName(), backend["namespace"], backend["name"], service.GetName())}
		}
	}
	return nil
}

// DefinitionKind returns how every API server serves the kinds whose objects
// define kinds.
func DefinitionKind(resource string) Kind {
	at := slices.IndexFunc(DefiningKinds(), func(gvk schema.GroupVersionKind) bool { return strings.ToLower(gvk.Kind)+"s" == resource })
	return Kind{Resource: DefiningKinds()[at].GroupVersion().WithResource(resource), Stored: true}
}

// IsGone reports whether an error proves that an object does not exist: it
// names the object. The bare 404 of a path that is not served, or of a proxy,
// does not.
func IsGone(err error) bool { return fault.IsMissing(err) && !fault.IsNotServed(err) }

// DefiningKinds returns the kinds whose objects define other kinds.
func DefiningKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	}
}

// WasServed reports whether the kind of a live CustomResourceDefinition was
// ever served, so that it may have objects.
func WasServed(crd *unstructured.Unstructured) bool {
	return status.Condition(status.Status(crd), "Established")["status"] == "True"
}
