package apply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// start sends a resource's PATCH, once its kind is served and its
// dependencies outside the stream are met.
func (r *run) start(i int) {
	s := &r.steps[i]
	if s.state.Final() || r.Stopping && !s.isHalfRecreated() {
		return
	}
	if r.awaitExternals(i) {
		return
	}
	r.setCRDTimeout(i)
	s.Cause = nil
	r.move(i, event.Applying, "")
	gvk := s.manifest.GroupVersionKind()
	kind, served := r.kind(gvk)
	if !served {
		switch {
		case r.applier.DryRun && len(s.ProvidedBy) > 0:
			r.deferred(i, "its "+s.ProvidedBy[0].Kind+" is created earlier in this run")
		case r.applier.DryRun && r.applier.KindTimeout > 0:
			r.deferred(i, fmt.Sprintf("the run waits up to %s for its kind: %v", r.applier.KindTimeout, wait.Unserved(r.applier.Cluster, gvk, "")))
		default:
			r.waitForKinds(i, gvk)
		}
		return
	}
	if !r.place(i, kind) {
		r.fail(i, event.Failed, wait.MissingNamespace(s.ID.Kind))
		return
	}
	s.kind, s.judged.HasStatus = kind, kind.HasStatus
	r.fillAndSend(i)
}

// place decides the namespace of an object as soon as its kind is served: the stream could
// not, where only an operator of this run brought the kind. It reports false when there is
// none.
func (r *run) place(i int, kind kube.Kind) bool {
	s := &r.steps[i]
	namespace := s.manifest.GetNamespace()
	switch {
	case kind.Namespaced == (namespace != ""):
		return true
	case !kind.Namespaced:
		namespace = ""
	case r.applier.Namespace == "":
		return false
	default:
		namespace = r.applier.Namespace
	}
	placed := s.manifest.DeepCopy()
	placed.SetNamespace(namespace)
	r.replaceManifest(i, placed)
	r.watches.Count(i, s.target())
	return true
}

// replaceManifest makes a step send another manifest.
func (r *run) replaceManifest(i int, manifest *unstructured.Unstructured) {
	r.steps[i].manifest, r.steps[i].judged.Manifest = manifest, manifest
	r.snapshot.Manifests = slices.Clone(r.snapshot.Manifests) // workers read the old one
	r.snapshot.Manifests[i] = manifest
}

// target returns the ID of a step's object in the cluster. It differs from the plan's where
// place decided its namespace.
func (s *step) target() object.ID {
	id := s.ID
	id.Namespace = s.manifest.GetNamespace()
	return id
}
