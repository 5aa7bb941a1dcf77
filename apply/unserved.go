package apply

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

	"github.com/ordapply/ordapply/health"
)

// A kind that discovery does not list may have objects all the same: its
// CustomResourceDefinition serves no version for the moment, the API server has
// just started, or discovery was read before the kind was installed. Nothing of
// the kind exists only when discovery, read again, does not list it and neither a
// CustomResourceDefinition nor an APIService of another server defines it.

// servedWithin bounds the wait for a kind whose CustomResourceDefinition says that
// it is served. An API server that has just started lists it a second later.
const servedWithin = 10 * time.Second

// UnservedError says why it is unknown whether objects of a kind exist.
type UnservedError struct {
	Kind schema.GroupKind
	Why  error
	// passing: the cause is expected to end within moments.
	passing bool
}

func (e *UnservedError) Error() string {
	return fmt.Sprintf("the API server does not serve %s now, and its objects may still exist: %v", e.Kind, e.Why)
}

func (e *UnservedError) Unwrap() error { return e.Why }

// ReadServed calls read with each version under which the API server serves a
// kind, preferred ones first, until one of them is answered. The error is that of
// read; nil without an answer when nothing of the kind can exist; and an
// *UnservedError when that is unknown.
func ReadServed(ctx context.Context, cluster Cluster, gk schema.GroupKind, read func(schema.GroupVersionKind, Kind) error, preferred ...string) error {
	began := time.Now()
	for n := 1; ; n++ {
		versions := cluster.Versions(gk)
		for _, version := range append(slices.Clone(preferred), versions...) {
			gvk := gk.WithVersion(version)
			if kind, served := cluster.Kind(gvk); served {
				if err := read(gvk, kind); !notServed(err) {
					return err
				}
			}
		}
		err := confirmGone(ctx, cluster, gk)
		if !slices.Equal(versions, cluster.Versions(gk)) { // discovery has learned of a version
			continue
		}
		unserved, unknown := errors.AsType[*UnservedError](err)
		pause := backoff(ctx, n)
		if !unknown || !unserved.passing || time.Since(began)+pause > servedWithin {
			return err
		}
		reportRetry(ctx, Retry{Of: "find out whether the API server serves " + gk.String(), Attempt: n, Pause: pause, Cause: inWords(unserved.Why)})
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// confirmGone is nil when nothing of a kind can exist that the API server did not
// serve a moment ago, and otherwise an *UnservedError.
func confirmGone(ctx context.Context, cluster Cluster, gk schema.GroupKind) error {
	if err := reread(ctx, cluster, gk.Group); err != nil {
		return &UnservedError{Kind: gk, Why: err, passing: patience(err) > 0}
	}
	if err := groupUnreadable(cluster, gk.Group); err != nil {
		return &UnservedError{Kind: gk, Why: err}
	}
	if health.IsNative(gk.Group) {
		return nativeGone(ctx, cluster, gk)
	}
	if err := undefined(ctx, cluster, gk); err != nil {
		return err
	}
	return unproxied(ctx, cluster, gk)
}

// nativeGone is nil when the API server serves a group of Kubernetes' own without
// a kind: the cluster was upgraded, and this version has the kind no longer. A
// group that has an APIService and is not listed at all is not served yet.
func nativeGone(ctx context.Context, cluster Cluster, gk schema.GroupKind) error {
	switch {
	case len(cluster.Versions(gk)) > 0:
		return &UnservedError{Kind: gk, Why: errors.New("discovery lists the kind, and a request for it was answered with a bare 404: look at what stands between you and the API server"), passing: true}
	case nativeListed(cluster, gk.Group):
		return nil
	}
	services := definitionKind("apiservices")
	found, err := cluster.List(ctx, services, "", Query{})
	if err != nil {
		return unreadDefinition(gk, services, err)
	}
	for _, service := range found {
		if group, _, _ := unstructured.NestedString(service.Object, "spec", "group"); group == gk.Group {
			return &UnservedError{Kind: gk, Why: errors.New("discovery does not list its group yet: the API server may have just started"), passing: true}
		}
	}
	return nil
}

// nativeListed reports whether discovery lists a kind of one of Kubernetes' own
// groups.
func nativeListed(cluster Cluster, group string) bool {
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

// reread asks discovery again for a group. That of the core group needs no second
// look: no CustomResourceDefinition adds to it.
func reread(ctx context.Context, cluster Cluster, group string) error {
	if group == "" {
		return nil
	}
	for _, gv := range cluster.AllUnreadable() {
		if gv.Group == group {
			_ = cluster.Refresh(ctx, gv) // the error is kept as the reason why it is unreadable
		}
	}
	err := cluster.Refresh(ctx, schema.GroupVersion{Group: group})
	if err != nil && groupUnreadable(cluster, group) != nil {
		return nil // which says more
	}
	return err
}

// groupUnreadable is why discovery could not read a version of a group; nil when
// it could.
func groupUnreadable(cluster Cluster, group string) error {
	for _, gv := range cluster.AllUnreadable() {
		if err := cluster.Unreadable(gv); gv.Group == group && err != nil {
			return fmt.Errorf("what serves %s does not answer: %w; repair the backend of its APIService (kubectl describe apiservice %s.%s)", gv, brief(err), gv.Version, gv.Group)
		}
	}
	return nil
}

// undefined is nil when no CustomResourceDefinition defines a kind.
func undefined(ctx context.Context, cluster Cluster, gk schema.GroupKind) error {
	crds := definitionKind("customresourcedefinitions")
	found, err := cluster.List(ctx, crds, "", Query{Metadata: true})
	if err != nil {
		return unreadDefinition(gk, crds, err)
	}
	for _, listed := range found {
		if _, group, _ := strings.Cut(listed.GetName(), "."); group != gk.Group {
			continue
		}
		crd, err := cluster.Get(ctx, crds, "", listed.GetName())
		switch {
		case IsGone(err):
		case err != nil:
			return unreadDefinition(gk, crds, err)
		case definesKind(crd, gk.Kind):
			return unservedBy(ctx, cluster, gk, crd)
		}
	}
	return nil
}

// unreadDefinition says that what defines a kind cannot be read.
func unreadDefinition(gk schema.GroupKind, kind Kind, err error) error {
	what := kind.Resource.GroupResource().String()
	why := fmt.Errorf("%s cannot be read: %w", what, brief(err))
	if apierrors.IsForbidden(err) {
		why = fmt.Errorf("%w; grant get and list on %s to the account in your kubeconfig, or run this with one that has them", why, what)
	}
	return &UnservedError{Kind: gk, Why: why, passing: patience(err) > 0}
}

// definesKind reports whether a live CustomResourceDefinition is that of a kind of
// its group.
func definesKind(crd *unstructured.Unstructured, kind string) bool {
	wanted, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	accepted, _, _ := unstructured.NestedString(crd.Object, "status", "acceptedNames", "kind")
	return kind == wanted || kind == accepted
}

// unservedBy says why the kind of a live CustomResourceDefinition is not served.
func unservedBy(ctx context.Context, cluster Cluster, gk schema.GroupKind, crd *unstructured.Unstructured) error {
	unserved := &UnservedError{Kind: gk}
	name := crd.GetName()
	refused := conditionOf(crd, "NamesAccepted")
	crd.SetGroupVersionKind(definitions()[0])
	kinds := definedKinds(crd)
	switch {
	case crd.GetDeletionTimestamp() != nil:
		unserved.Why, unserved.passing = fmt.Errorf("CustomResourceDefinition %s is being deleted%s", name, HeldBy(crd)), true
	case len(kinds) == 0:
		unserved.Why = fmt.Errorf("CustomResourceDefinition %s serves no version: set served: true for one of them (kubectl edit crd %s)", name, name)
	case refused["status"] == "False":
		unserved.Why = fmt.Errorf("CustomResourceDefinition %s is not established: %v", name, refused["message"])
	case !wasServed(crd):
		unserved.Why, unserved.passing = fmt.Errorf("CustomResourceDefinition %s is not established yet", name), true
	default:
		unserved.Why, unserved.passing = fmt.Errorf("CustomResourceDefinition %s serves %s, and the API server does not answer for that yet: it may have just started; run this again", name, kinds[0].Version), true
		for _, gvk := range kinds {
			if err := cluster.Refresh(ctx, gvk.GroupVersion()); err != nil {
				unserved.Why = err
			}
		}
	}
	return unserved
}

// conditionOf is a condition of a live object; nil without one.
func conditionOf(obj *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == kind {
			return condition
		}
	}
	return nil
}

// unproxied is nil when no APIService hands the group of a kind to another server.
func unproxied(ctx context.Context, cluster Cluster, gk schema.GroupKind) error {
	services := definitionKind("apiservices")
	if _, aggregates := cluster.Kind(definitions()[1]); !aggregates {
		return nil // this API server hands nothing to others
	}
	found, err := cluster.List(ctx, services, "", Query{})
	if err != nil {
		return unreadDefinition(gk, services, err)
	}
	for _, service := range found {
		group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
		backend, _, _ := unstructured.NestedMap(service.Object, "spec", "service")
		if group == gk.Group && backend != nil {
			return &UnservedError{Kind: gk, Why: fmt.Errorf("APIService %s hands its group to Service %v/%v, which does not list the kind now (kubectl describe apiservice %s)",
				service.GetName(), backend["namespace"], backend["name"], service.GetName())}
		}
	}
	return nil
}

// definitionKind is how every API server serves what defines kinds.
func definitionKind(resource string) Kind {
	at := slices.IndexFunc(definitions(), func(gvk schema.GroupVersionKind) bool { return strings.ToLower(gvk.Kind)+"s" == resource })
	return Kind{Resource: definitions()[at].GroupVersion().WithResource(resource), Stored: true}
}

// IsGone reports whether an answer proves that an object does not exist: it names
// the object. The bare 404 of a path that is not served, or of a proxy, does not.
func IsGone(err error) bool { return missing(err) && !notServed(err) }
