package apply

import (
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// refuseUnfit fails custom resources that the stream's own CustomResourceDefinitions
// refuse, before anything is written. Where the kind is served already the API server
// decides: it lets fields stay as they are in what exists, and other webhooks may
// change what is sent.
func (r *run) refuseUnfit() {
	if !slices.ContainsFunc(r.steps, r.awaitsOwnKind) {
		return
	}
	var resources []ordering.Resource
	for i := range r.steps {
		resources = append(resources, ordering.Resource{Meta: Meta(r.steps[i].obj), Object: r.steps[i].obj.Object})
	}
	unfit := ordering.Unfit(resources)
	for i := range r.steps {
		s := &r.steps[i]
		if err := unfit[s.ID]; err != nil && r.awaitsOwnKind(*s) && !s.state.Final() {
			r.fail(i, Failed, err)
			r.over = true
		}
	}
}

// awaitsOwnKind reports whether the stream defines the kind of a step, and the
// cluster does not serve it yet.
func (r *run) awaitsOwnKind(s step) bool {
	gvk := s.obj.GroupVersionKind()
	_, served := r.kind(gvk)
	return !served && r.defined(gvk)
}
