package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/request"
)

// sendOrSkip sends a step whose kind is served and that waits for nothing else,
// unless its object is unchanged.
func (r *run) sendOrSkip(i int) {
	s := &r.steps[i]
	if !r.Stopping && r.mustReadAgain(i) {
		s.phase = rereading
		r.toRelist = append(r.toRelist, i)
		r.expectAnswer(i)
		return
	}
	err := s.membershipError
	if err == nil {
		err = r.snapshot.UnreadError(i, s.read.Err)
	}
	if err != nil {
		r.fail(i, event.Failed, err)
		return
	}
	if s.read.Live == nil && r.isNotCreated(i) {
		return
	}
	if !r.skipUnchanged(i) {
		r.invalidateReads()
		r.sendFirst(i)
	}
}

// mustReadAgain reports whether a step's object must be read again before it
// is sent or counted as unchanged. An object that is sent in any case need
// not be, unless it may not be allowed to become a member, or a policy decides.
func (r *run) mustReadAgain(i int) bool {
	s, owner := &r.steps[i], r.snapshot.Owner
	if r.applier.DryRun || s.read.Epoch > s.minEpoch {
		return false
	}
	policy, _ := r.snapshot.Policy(i, s.read.Live)
	return policy != applyset.Apply || owner.MustKnowOwner() && (!s.read.Known || owner.Adopt == applyset.AdoptNever) || r.snapshot.IsUnchanged(i, s.read)
}

// relist reads the objects of the steps that require it, with one LIST for
// each kind and namespace. It includes the steps of the open wave that start
// later.
func (r *run) relist() {
	if len(r.toRelist) == 0 || r.Stopping {
		return
	}
	toRead := r.toRelist
	r.toRelist = nil
	for _, l := range r.snapshot.Lists(r.withPendingInWave(toRead)) {
		reader, epoch := r.snapshot, r.epoch
		r.Enqueue(func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, request.ReadTimeout)
			defer cancel()
			seen := reader.ReadList(ctx, l)
			refused := reader.MembershipErrors(ctx, l, seen)
			return func() { r.handleRelist(l, epoch, seen, refused) }
		})
	}
}

// withPendingInWave adds the steps of the open wave that have not started and are
// of the same kinds and namespaces.
func (r *run) withPendingInWave(steps []int) []int {
	if r.applier.Schedule == Graph {
		return steps
	}
	type place struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	placeOf := func(i int) place {
		return place{r.steps[i].manifest.GroupVersionKind(), r.steps[i].manifest.GetNamespace()}
	}
	listed := map[place]bool{}
	for _, i := range steps {
		listed[placeOf(i)] = true
	}
	all := slices.Clone(steps)
	for _, i := range r.waves[r.wave].members {
		if r.steps[i].state == event.Pending && listed[placeOf(i)] {
			all = append(all, i)
		}
	}
	return all
}

// handleRelist resumes the steps of a list that was read again.
func (r *run) handleRelist(l *request.LiveList, epoch int, seen request.Result, refused map[string]error) {
	isOpen := func(i int) bool { return r.steps[i].state == event.Pending || r.steps[i].state == event.Applying }
	for _, i := range l.Members {
		if s := &r.steps[i]; isOpen(i) {
			s.read, s.membershipError = r.snapshot.Object(l, seen, i, epoch+1), refused[s.ID.Name]
		}
	}
	for _, i := range l.Members {
		if s := &r.steps[i]; s.state == event.Applying && s.phase == rereading && !r.Stopping {
			s.phase = patching
			r.sendOrSkip(i)
		}
	}
}

// skipUnchanged handles a step whose object is proven unchanged as if its PATCH
// had been answered; false when it is not.
func (r *run) skipUnchanged(i int) bool {
	s := &r.steps[i]
	same, live, whole := r.snapshot.IsUnchanged(i, s.read), s.read.Live, !s.read.Metadata
	s.read.Live, s.before = nil, request.IdentityOf(live)
	if live != nil {
		if with := r.snapshot.Owner.SharedWith(live); len(with) > 0 {
			s.ofManagers().owners.SharedWith = with
		}
	}
	if !same {
		if live != nil {
			m := s.ofManagers()
			m.former, m.ownFields = r.snapshot.Owner.FormerSetManagers(live), r.snapshot.Owner.OwnEntries(live)
			s.carried = redact.Forms(r.secretive.ValuesIn(live)...)
		}
		if live != nil && whole && r.snapshot.Bodies.DependsOnLive(s.manifest) {
			s.live = live
		}
		if live != nil && r.snapshot.TakesOver(i, live) {
			s.takesOver = true
			if s.joining = r.snapshot.Joining(i, live); s.joining != nil {
				return false
			}
			if whole || write.ShowsTakeover(live) {
				s.takenOver = live
			}
		}
		return false
	}
	s.unchanged = !slices.Contains(r.applier.Sent, s.ID)
	s.fromRead = true
	r.applied(i, live)
	s.fromRead = false
	return true
}
