package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/ordering"
)

// What was read before the run is true when the run begins. Once it has sent
// something, or waited for something, a resource of a later wave is judged by what
// is true when its wave opens: its objects are read again, with one LIST for each
// kind and namespace of that wave. So is, by itself, what starts later than its
// wave because it had to wait, and with schedule Graph what starts after something
// became ready. A run that sends nothing and waits for nothing reads everything
// once.
//
// The time of a run is counted in epochs. A new one begins when what was read
// before may no longer be true.

// invalidateReads begins a new epoch: something was sent, or became true after a wait.
func (r *run) invalidateReads() {
	r.active = true
	r.epoch++
}

// requireFreshRead lets a step be judged by nothing that was read before.
func (r *run) requireFreshRead(i int) { r.steps[i].freshFrom = r.epoch }

// requireFreshReads lets the members of a wave that opens be judged by what is true now.
func (r *run) requireFreshReads(members []int) {
	if r.active {
		r.epoch++
	}
	for _, i := range members {
		r.requireFreshRead(i)
	}
}

// inheritFreshness lets a step that another one held up be judged by nothing older than
// what held it up: by what is true now where it waited for the other to be ready.
func (r *run) inheritFreshness(i, held int, gate ordering.Gate) {
	if held < len(r.steps) && gate == ordering.Applied {
		r.steps[i].freshFrom = max(r.steps[i].freshFrom, r.steps[held].freshFrom)
		return
	}
	r.requireFreshRead(i)
}

// requireAllFresh lets no step that has not begun be judged by what was read before: an
// object that was being deleted has gone since, and what was in it or belonged to
// it with it.
func (r *run) requireAllFresh() {
	r.invalidateReads()
	for i := range r.steps {
		r.requireFreshRead(i)
	}
}

// proceed goes on with a step whose kind is served and for which nothing is left
// to wait: it is sent, unless it is as it was applied last.
func (r *run) proceed(i int) {
	s := &r.steps[i]
	if r.mustReadAgain(i) {
		s.reading = true
		r.toRead = append(r.toRead, i)
		r.expectAnswer(i)
		return
	}
	err := s.refused
	if err == nil {
		err = r.a.Membership.refusesUnread(s.unread)
	}
	if err != nil {
		r.fail(i, Failed, err)
		return
	}
	if !r.unchanged(i) {
		r.invalidateReads()
		r.sendFirst(i)
	}
}

// mustReadAgain reports whether a step's object must be read again before it is sent or
// taken for unchanged. What will be sent in any case need not be, unless it may be
// what must not become a member.
func (r *run) mustReadAgain(i int) bool {
	s, m := &r.steps[i], r.a.Membership
	if r.a.DryRun || s.readIn > s.freshFrom {
		return false
	}
	return m.mustKnowOwner() && (!s.known || m.Adopt == AdoptNever) || r.asAppliedLast(i)
}

// relist reads the objects of the steps that must be looked at, with one LIST for
// each kind and namespace. It holds those of the open wave that begin later, too.
func (r *run) relist() {
	if len(r.toRead) == 0 || r.stopping {
		return
	}
	asked := r.toRead
	r.toRead = nil
	for _, l := range r.surveyLists(r.withTheirWave(asked)) {
		a, q, epoch := r.a, r.queryOf(l), r.epoch
		r.enqueue(func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, surveyTime)
			defer cancel()
			seen := a.read(ctx, q)
			refused := a.refusedOf(ctx, seen)
			return func() { r.relisted(l, epoch, seen, refused) }
		})
	}
}

// withTheirWave adds to steps those of the open wave that have not begun and are of
// the same kinds and namespaces.
func (r *run) withTheirWave(steps []int) []int {
	if r.a.Schedule == Graph {
		return steps
	}
	type place struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	placeOf := func(i int) place { return place{r.steps[i].obj.GroupVersionKind(), r.steps[i].obj.GetNamespace()} }
	listed := map[place]bool{}
	for _, i := range steps {
		listed[placeOf(i)] = true
	}
	all := slices.Clone(steps)
	for _, i := range r.waves[r.wave].members {
		if r.steps[i].state == Pending && listed[placeOf(i)] {
			all = append(all, i)
		}
	}
	return all
}

// refusedOf says which of the objects that were read may not be written, because
// of whose they are.
func (a Applier) refusedOf(ctx context.Context, seen readResult) map[string]error {
	named := a.nameSets(ctx)
	refused := map[string]error{}
	for name, live := range seen.objects {
		if err := a.Membership.refuses(live, named); err != nil {
			refused[name] = err
		}
	}
	return refused
}

// relisted goes on with the steps of a list that was read again.
func (r *run) relisted(l *surveyed, epoch int, seen readResult, refused map[string]error) {
	l.members = slices.DeleteFunc(l.members, func(i int) bool { return r.steps[i].state != Pending && r.steps[i].state != Applying })
	r.found(l, seen, epoch)
	for _, i := range l.members {
		r.steps[i].refused = refused[r.steps[i].ID.Name]
	}
	for _, i := range l.members {
		if s := &r.steps[i]; s.state == Applying && s.reading && !r.stopping {
			s.reading = false
			r.proceed(i)
		}
	}
}
