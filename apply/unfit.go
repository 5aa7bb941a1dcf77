package apply

import (
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// failInvalidCustomResources fails, before anything is written, custom resources that the
// stream's own CustomResourceDefinitions reject. Where the kind is already
// served the API server decides: it tolerates unchanged invalid fields of
// existing objects, and webhooks may change what is sent.
func (r *run) failInvalidCustomResources() {
	if !slices.ContainsFunc(r.steps, r.awaitsOwnKind) {
		return
	}
	var resources []ordering.Resource
	for i := range r.steps {
		resources = append(resources, ordering.Resource{Meta: Meta(r.steps[i].manifest), Object: r.steps[i].manifest.Object})
	}
	unfit := ordering.ValidateCustomResources(resources)
	for i := range r.steps {
		s := &r.steps[i]
		if err := unfit[s.ID]; err != nil && r.awaitsOwnKind(*s) && !s.state.Final() {
			r.fail(i, Failed, err)
			r.Finished = true
		}
	}
}

// awaitsOwnKind reports whether the stream defines the kind of a step and the
// cluster does not serve it yet.
func (r *run) awaitsOwnKind(s step) bool {
	gvk := s.manifest.GroupVersionKind()
	_, served := r.kind(gvk)
	return !served && r.isDefinedByStream(gvk)
}
