package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	livefill "github.com/ordapply/ordapply/internal/live/fill"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/object"
)

// A manifest may take values of other objects (config.kubernetes.io/apply-time-mutation).
// They are read when these objects are ready, each time its step starts; from then on the
// step's manifest is the one with the values.

// fillings are the values that a step takes from other objects.
type fillings struct {
	template *unstructured.Unstructured // the manifest as it is written; nil without the annotation
	secrets  []string                   // values of Secrets in its manifest, in the forms of redact.Forms
	carried  []string                   // the live object's before the PATCH
}

// readTemplates records the steps that take values of others.
func (r *run) readTemplates() {
	var templates []*unstructured.Unstructured
	for i := range r.steps {
		if s := &r.steps[i]; mutation.In(s.manifest.Object) {
			s.template = s.manifest
			templates = append(templates, s.template)
		}
	}
	r.secretive = mutation.SecretiveOf(templates)
}

// fillAndSend sends a step, once it has the values that it takes.
func (r *run) fillAndSend(i int) {
	s := &r.steps[i]
	if s.template == nil || s.isHalfRecreated() || r.isLeftAsItIs(i) {
		r.sendOrSkip(i)
		return
	}
	template := s.template.DeepCopy()
	template.SetNamespace(s.manifest.GetNamespace())
	sources := livefill.Sources{Cluster: r.applier.Cluster, Version: r.versionInStream}
	if r.applier.DryRun {
		open := r.openSources(i)
		sources.IsOpen = func(id object.ID) bool { return slices.Contains(open, id) }
	}
	r.expectAnswer(i)
	fill := func(ctx context.Context) (livefill.Filled, error) { return sources.Fill(ctx, template, r.secretive) }
	loop.Ask(&r.Loop, fill, func(filled livefill.Filled, err error) { r.handleFilled(i, filled, err) })
}

// handleFilled sends a step that has its values.
func (r *run) handleFilled(i int, filled livefill.Filled, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case r.Stopping:
		r.endRequest(i)
	case err != nil:
		r.fail(i, event.Failed, err)
	case len(filled.Unknown) > 0:
		r.deferred(i, filled.Note())
	default:
		s.secrets = filled.Secrets
		r.podWatcher.ForgetSecrets()
		r.replaceManifest(i, filled.Manifest)
		r.sendOrSkip(i)
	}
}

// secretsOf returns the values of Secrets that a step's object takes or has taken: an error
// and a status may repeat them.
func (r *run) secretsOf(i int) []string {
	return slices.Concat(r.steps[i].secrets, r.steps[i].carried)
}

// isLeftAsItIs reports whether a policy decides that nothing is sent for a step.
func (r *run) isLeftAsItIs(i int) bool {
	policy, _ := r.snapshot.Policy(i, r.steps[i].read.Live)
	return policy == applyset.LeaveAlone || r.snapshot.LeftBecause(i, r.steps[i].read.Live) != ""
}

// versionInStream returns the version of an object in the stream; "" if it is not there.
func (r *run) versionInStream(id object.ID) string {
	if i, ok := r.byID[id]; ok {
		return r.steps[i].manifest.GroupVersionKind().Version
	}
	return ""
}

// openSources returns the dependencies of a step that a dry run does not change, and the run
// may.
func (r *run) openSources(i int) []object.ID {
	var open []object.ID
	for _, need := range r.steps[i].Needs {
		if at, ok := r.byID[need.ID]; ok && !r.steps[at].unchanged {
			open = append(open, need.ID)
		}
	}
	return open
}
