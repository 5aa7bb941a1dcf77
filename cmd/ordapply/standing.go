package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// standing is how an apply set does at one moment.
type standing struct {
	Set      object.ID
	Revision *state.Revision // whose order the sections have; nil when the set has none
	Sections []section
	Notes    []string // remarks for people
	// Until is when it is another though nothing happens; zero: never.
	Until time.Time
}

// section is a layer, a stack, an application of a stack or what stands beside
// them. The members of a stack are those of its applications.
type section struct {
	Name    string
	Stack   string // that it is an application of; "" else
	IsStack bool
	Members []member // in the order of the revision
}

// member is a resource of the set, and the verdict on it.
type member struct {
	ID           object.ID
	Verdict      health.Verdict
	Grade        health.Grade // Ungraded: that of the verdict
	Assumed      bool         // with Ready: nothing says so
	Reason, Rule string
}

// grade is the health of the member.
func (m member) grade() health.Grade {
	if m.Grade != health.Ungraded {
		return m.Grade
	}
	return m.Verdict.Grade()
}

// observer looks at a set again and again. What it needs once it keeps.
type observer struct {
	*target
	name     string
	assessor *health.Assessor
	grace    time.Duration
	revision *state.Revision                  // as it was last read
	asked    map[schema.GroupVersionKind]bool // kinds whose printer columns were asked for
}

// endpoints tell whether a Service has an endpoint that is ready.
type endpoints func(service object.ID) (bool, error)

// observe reads how the set does now.
func (o *observer) observe(ctx context.Context) (*standing, error) {
	set, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	now, err := o.observeMembers(ctx, set, func(service object.ID) (bool, error) { return o.target.cluster.HasEndpoints(ctx, service) })
	if err != nil {
		return nil, err
	}
	left, err := set.history.LeftHooks(ctx)
	for _, id := range left {
		now.Notes = append(now.Notes, id.String()+" is no member: a hook left it, and it is deleted with the set")
	}
	if apierrors.IsForbidden(err) { // the set itself may be read
		now.Notes = append(now.Notes, "what hooks left behind cannot be read: "+err.Error())
		return now, nil
	}
	return now, err
}

// open reads the set's parent and its newest revision.
func (o *observer) open(ctx context.Context) (known, error) {
	set, err := o.known(ctx, o.name)
	if err != nil {
		return known{}, err
	}
	return set, o.readRevision(ctx, set.history)
}

// observeMembers reads how the members of the set do now.
func (o *observer) observeMembers(ctx context.Context, set known, found endpoints) (*standing, error) {
	members, err := set.WholeMembers(ctx)
	if err != nil {
		return nil, err
	}
	o.learnColumns(ctx, members.Live)
	now := o.standing(set.Parent.ID, members, time.Now(), found)
	if remark := set.Remark(); remark != "" {
		now.Notes = append([]string{remark}, now.Notes...)
	}
	return now, nil
}

// standing is how a set with these members does at a time. It makes no request
// but for endpoints.
func (o *observer) standing(set object.ID, members state.Members, now time.Time, found endpoints) *standing {
	out := &standing{Set: set, Notes: members.Remarks()}
	if o.revision != nil {
		r := *o.revision // which is read again in its place
		out.Revision = &r
	}
	verdicts := map[object.ID]member{}
	for id, live := range members.Live {
		m, until := o.judge(id, live, now, found)
		verdicts[id] = m
		if !until.IsZero() && (out.Until.IsZero() || until.Before(out.Until)) {
			out.Until = until
		}
	}
	out.Sections = sections(out.Revision, verdicts, members.Unknown)
	return out
}

// readRevision reads the newest revision, unless it is the one that is known. Its
// health rules are those that it was applied with.
func (o *observer) readRevision(ctx context.Context, history state.History) error {
	entries, err := history.List(ctx)
	if err != nil || len(entries) == 0 {
		o.revision = nil
		return err
	}
	newest := entries[len(entries)-1]
	if o.revision != nil && o.revision.Number == newest.Number && o.revision.Created.Equal(newest.Created) {
		o.revision.Status = newest.Status
		return nil
	}
	if o.revision, err = history.Read(ctx, newest.Number); err != nil {
		return err
	}
	return withRevision(o.assessor, o.revision)
}

// judge is the verdict on a live object, as a run would have it that waited for
// it long enough; and until when it holds if nothing happens, zero for ever.
func (o *observer) judge(id object.ID, live *unstructured.Unstructured, now time.Time, found endpoints) (m member, until time.Time) {
	a := o.assessor.Assess(live)
	kind, _ := o.target.cluster.Kind(live.GroupVersionKind())
	if a.Held && o.revision != nil && health.AsksToBeHeld(o.revision.Objects()[id]) { // few are held
		a = o.assessor.AfterGrace(a)
	}
	if a.NeedsTime() {
		graceEnds := live.GetCreationTimestamp().Add(o.grace)
		if (kind.HasStatus || a.Neutral) && now.Before(graceEnds) {
			until = graceEnds
		} else {
			a = o.assessor.AfterGrace(a)
		}
	}
	for _, service := range a.Backends {
		if a.Verdict != health.Ready {
			break
		}
		there, err := found(service)
		switch {
		case err != nil:
			a.Verdict, a.Health, a.Reason = health.Unknown, health.Ungraded, fmt.Sprintf("the endpoints of %s cannot be read: %v", service, err)
		case !there:
			a.Verdict, a.Health, a.Reason = health.Progressing, health.Ungraded, service.String()+" has no ready endpoint"
		}
	}
	return member{ID: id, Verdict: a.Verdict, Grade: a.Grade(), Assumed: a.Assumed, Reason: a.Reason, Rule: a.Rule}, until
}

// withRevision lets the health rules count that a revision was applied with.
func withRevision(assessor *health.Assessor, r *state.Revision) error {
	assessor.RulesOf = nil
	if r.OrderFile == "" {
		return nil
	}
	file, err := storedOrderFile(fmt.Sprintf("the order of revision %d", r.Number), []byte(r.OrderFile))
	if err != nil {
		return err
	}
	assessor.RulesOf = file.rulesOf
	return nil
}

// sections puts the members of a set in the order of a revision. What the
// revision holds and nobody found is missing; what it does not hold comes last.
func sections(r *state.Revision, found map[object.ID]member, unknown map[schema.GroupKind]error) []section {
	var out []section
	listed := map[object.ID]bool{}
	if r != nil {
		out = placed(r.Plan, func(id object.ID) member {
			listed[id] = true
			return lookUp(id, found, unknown)
		})
	}
	rest := section{Name: "(not in the stream)"}
	for id, m := range found {
		if !listed[id] {
			rest.Members = append(rest.Members, m)
		}
	}
	if r == nil {
		rest.Name = "(no revision)"
	}
	if len(rest.Members) > 0 {
		slices.SortFunc(rest.Members, func(a, b member) int { return object.Compare(a.ID, b.ID) })
		out = append(out, rest)
	}
	return out
}

// lookUp is a member that should be there.
func lookUp(id object.ID, found map[object.ID]member, unknown map[schema.GroupKind]error) member {
	if m, ok := found[id]; ok {
		return m
	}
	if err := unknown[schema.GroupKind{Group: id.Group, Kind: id.Kind}]; err != nil {
		return member{ID: id, Verdict: health.Unknown, Reason: "its kind cannot be read: " + err.Error()}
	}
	return member{ID: id, Verdict: health.Missing, Reason: "it is not there, or no longer a member of the set"}
}

// placed makes the sections of a plan, in the order in which the first resource
// of each goes out.
func placed(plan *ordering.Plan, look func(object.ID) member) []section {
	var out []section
	at := map[string]int{}
	for _, step := range plan.Steps {
		name := sectionOf(step)
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, section{Name: name, Stack: stackOf(plan, step.Layer)})
		}
		out[i].Members = append(out[i].Members, look(step.ID))
	}
	return stacked(out)
}

// stackOf names the stack of an application; "" for every other layer.
func stackOf(plan *ordering.Plan, layer string) string {
	for _, l := range plan.Layers {
		if l.Name == layer && l.Kind == ordering.Application && l.Within >= 0 {
			return plan.Layers[l.Within].Name
		}
	}
	return ""
}

// stacked puts all applications of a stack below it, where the first of them
// stood.
func stacked(flat []section) []section {
	var out []section
	done := map[string]bool{"": true}
	for _, s := range flat {
		if done[s.Stack] {
			if s.Stack == "" {
				out = append(out, s)
			}
			continue
		}
		done[s.Stack] = true
		stack := section{Name: s.Stack, IsStack: true}
		var applications []section
		for _, other := range flat {
			if other.Stack == s.Stack {
				applications = append(applications, other)
				stack.Members = append(stack.Members, other.Members...)
			}
		}
		out = append(append(out, stack), applications...)
	}
	return out
}

// sectionOf names where a step stands: the layer that placed it, or what it is
// when none did. A prerequisite goes before the layer that its stamp names.
func sectionOf(step ordering.Step) string {
	switch {
	case step.Why.Rule == "prerequisite":
		return "prerequisites"
	case step.Layer != "":
		return step.Layer
	}
	return "(no layer)"
}

// grade is the aggregated health of members.
func grade(members []member) health.Grade {
	grades := make([]health.Grade, len(members))
	for i, m := range members {
		grades[i] = m.grade()
	}
	return health.Aggregate(grades...)
}

// ready counts the members that are.
func ready(members []member) int {
	n := 0
	for _, m := range members {
		if m.Verdict == health.Ready {
			n++
		}
	}
	return n
}

// worst is the first of the members that are not ready with the worst grade, and
// how many others are not ready; false when all are.
func worst(members []member) (member, int, bool) {
	bad := len(members) - ready(members)
	if bad == 0 {
		return member{}, 0, false
	}
	at := -1
	for i, m := range members {
		if m.Verdict != health.Ready && (at < 0 || m.grade() > members[at].grade()) {
			at = i
		}
	}
	return members[at], bad - 1, true
}

// members are all of the set, each once.
func (s *standing) members() []member {
	var out []member
	for _, section := range s.Sections {
		if !section.IsStack {
			out = append(out, section.Members...)
		}
	}
	return out
}
