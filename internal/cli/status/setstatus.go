// Package status shows the health of an apply set, layer by layer, once or as it
// changes, and its revisions:
//
//	ordapply status shop --watch
//	ordapply history shop
package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	judgestatus "github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// setStatus is the status of an apply set at one moment.
type setStatus struct {
	Set      object.ID
	Revision *history.Revision // the sections follow its order; nil if the set has no revision
	Deployed time.Time         // when the run of that revision ended; zero if it is not deployed
	Outcome  string            // how the run of that revision ended; "" when unknown
	Sections []section
	Notes    []string // remarks for display
	// Until is when the status changes without an event; zero means never.
	Until time.Time
}

// section is a layer, a stack, an application of a stack, or a group of other resources. A
// stack has the members of its applications.
type section struct {
	Name    string
	Stack   string // the stack of an application, or ""
	IsStack bool
	Members []member // in the revision's order
}

// member is a resource of the set with its verdict.
type member struct {
	ID           object.ID
	Verdict      health.Verdict
	Grade        health.Grade // GradeUnset means the verdict's grade
	Assumed      bool         // Ready without evidence
	Reason, Rule string
}

// grade returns the health of the member.
func (m member) grade() health.Grade {
	if m.Grade != health.GradeUnset {
		return m.Grade
	}
	return m.Verdict.Grade()
}

// Observer reads the status of a set repeatedly. It caches the constant parts.
type Observer struct {
	*connect.Target
	Name     string           // of the set, as the user wrote it
	Assessor *health.Assessor // without the rules of the set's revision
	Grace    time.Duration    // how long a custom resource without a status may still get one

	revision    *history.Revision                // as last read
	deployed    time.Time                        // when its run ended; zero if it is not deployed
	outcome     string                           // how its run ended
	columnsRead map[schema.GroupVersionKind]bool // kinds whose printer columns were read
}

// endpoints reports whether a Service has a ready endpoint.
type endpoints func(service object.ID) (bool, error)

// observe reads the current status of the set.
func (o *Observer) observe(ctx context.Context) (*setStatus, error) {
	now, err := o.read(ctx)
	if err != nil {
		return nil, err
	}
	return now.status, nil
}

// leftByHooks returns notes about objects left behind by hooks, or that they may not be
// read, which is no error.
func leftByHooks(ctx context.Context, cluster kube.Cluster, set connect.Existing) (notes []string, err error) {
	left, err := state.LeftHooks(ctx, cluster, set.History)
	for _, one := range left {
		fate := "it is deleted with the set"
		if one.Remains {
			fate = "it remains when the set is deleted"
		}
		notes = append(notes, fmt.Sprintf("%s is not a member: a hook left it behind, and %s", one.ID, fate))
	}
	_, unserved := errors.AsType[*kube.UnservedError](err)
	if apierrors.IsForbidden(err) || unserved {
		return append(notes, "it is unknown which objects hooks left behind: "+err.Error()), nil
	}
	return notes, err
}

// open reads the set's parent and its latest revision.
func (o *Observer) open(ctx context.Context) (connect.Existing, error) {
	set, err := connect.OpenExisting(ctx, o.Target, o.Name)
	if err != nil {
		return connect.Existing{}, err
	}
	if err := o.readRevision(ctx, set.History); err != nil {
		return connect.Existing{}, err
	}
	if o.revision != nil {
		o.outcome = withLock(ctx, o.Target, set, o.revision.Status, o.outcome)
	}
	return set, nil
}

// setStatus returns the status of a set with these members at a time. Its only
// requests are for endpoints.
func (o *Observer) setStatus(set object.ID, members set.Members, now time.Time, found endpoints) *setStatus {
	out := &setStatus{Set: set, Deployed: o.deployed, Outcome: o.outcome, Notes: members.Remarks()}
	if o.revision != nil {
		r := *o.revision // a copy, since the original is updated in place
		out.Revision = &r
	}
	verdicts := map[object.ID]member{}
	for id, live := range members.Live {
		m, until := o.assess(id, live, now, found)
		verdicts[id] = m
		if !until.IsZero() && (out.Until.IsZero() || until.Before(out.Until)) {
			out.Until = until
		}
	}
	out.Sections = sections(out.Revision, verdicts, members.Unknown)
	return out
}

// readRevision reads the latest revision unless it is cached. Its health rules are from its
// apply.
func (o *Observer) readRevision(ctx context.Context, history history.History) error {
	entries, err := history.List(ctx)
	if err != nil || len(entries) == 0 {
		o.revision, o.deployed, o.outcome = nil, time.Time{}, ""
		return err
	}
	newest := entries[len(entries)-1]
	o.deployed, o.outcome = newest.Deployed(), newest.Description
	if o.revision != nil && o.revision.Number == newest.Number && o.revision.Created.Equal(newest.Created) {
		o.revision.Status, o.revision.Record = newest.Status, newest.Record()
		return nil
	}
	if o.revision, err = history.Show(ctx, newest.Number); err != nil {
		return err
	}
	return UseRulesOf(o.Assessor, o.revision)
}

// assess returns the verdict on a live object, as at the end of a run that
// waited for it; until is when the verdict changes without an event, zero for
// never.
func (o *Observer) assess(id object.ID, live *unstructured.Unstructured, now time.Time, found endpoints) (m member, until time.Time) {
	a := o.Assessor.Assess(live)
	kind, _ := o.Target.Cluster.Kind(live.GroupVersionKind())
	if a.SuspendedBySpec && o.revision != nil && health.SuspendedByManifest(o.revision.Objects()[id]) { // few are suspended
		a = o.Assessor.AfterGrace(a)
	}
	expected := kind.HasStatus || o.Assessor.ExpectsStatus(live.GroupVersionKind())
	if a.NeedsGrace() && !a.AwaitsStatus(expected) {
		graceEnds := live.GetCreationTimestamp().Add(o.Grace)
		if (expected || a.Inconclusive) && now.Before(graceEnds) {
			until = graceEnds
		} else {
			a = o.Assessor.AfterGrace(a)
		}
	}
	for _, service := range a.Backends {
		if a.Verdict != health.Ready {
			break
		}
		there, err := found(service)
		switch {
		case err != nil:
			a.Verdict, a.Health, a.Reason = health.Unknown, health.GradeUnset, fmt.Sprintf("the endpoints of %s cannot be read: %v", service, err)
		case !there:
			a.Verdict, a.Health, a.Reason = health.Progressing, health.GradeUnset, service.String()+" has no ready endpoint"
		}
	}
	if failure := judgestatus.ReplicaFailure(live); failure != "" && a.Verdict != health.Ready {
		a.Reason += "; " + failure
	}
	return member{ID: id, Verdict: a.Verdict, Grade: a.Grade(), Assumed: a.Assumed, Reason: a.Reason, Rule: a.Rule}, until
}

// UseRulesOf uses the health rules that a revision was applied with.
func UseRulesOf(assessor *health.Assessor, r *history.Revision) error {
	assessor.RulesOf = nil
	if r.OrderFile == "" {
		return nil
	}
	file, err := input.ParseStoredOrder(fmt.Sprintf("the order of revision %d", r.Number), []byte(r.OrderFile))
	if err != nil {
		return err
	}
	assessor.RulesOf = file.RulesOf
	return nil
}

// sections groups the members of a set in the order of a revision. Resources of
// the revision that were not found are missing; members outside the revision
// come last.
func sections(r *history.Revision, found map[object.ID]member, unknown map[schema.GroupKind]error) []section {
	var out []section
	listed := map[object.ID]bool{}
	if r != nil {
		out = sectionsOf(r.Plan, func(id object.ID) member {
			listed[id] = true
			m := memberFor(id, found, unknown)
			if m.Verdict == health.Missing && isFinished(r, id) {
				m.Verdict, m.Grade, m.Reason = health.Ready, health.GradeHealthy, "finished, and deleted after its ttlSecondsAfterFinished"
			}
			return m
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

// memberFor returns the member for a resource that should exist.
func memberFor(id object.ID, found map[object.ID]member, unknown map[schema.GroupKind]error) member {
	if m, ok := found[id]; ok {
		return m
	}
	if err := unknown[schema.GroupKind{Group: id.Group, Kind: id.Kind}]; err != nil {
		return member{ID: id, Verdict: health.Unknown, Reason: "its kind cannot be read: " + err.Error()}
	}
	return member{ID: id, Verdict: health.Missing, Reason: "it does not exist, or is no longer a member of the set"}
}

// sectionsOf returns the sections of a plan, ordered by their first step.
func sectionsOf(plan *ordering.Plan, look func(object.ID) member) []section {
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

// stackOf returns the name of an application's stack; "" for other layers.
func stackOf(plan *ordering.Plan, layer string) string {
	for _, l := range plan.Layers {
		if l.Name == layer && l.Kind == ordering.Application && l.Within >= 0 {
			return plan.Layers[l.Within].Name
		}
	}
	return ""
}

// stacked groups the applications of a stack below it, at the position of the
// first one.
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

// sectionOf returns the section of a step: the layer that placed it, or a
// description. For a prerequisite that takes precedence over the layer of its
// stamp.
func sectionOf(step ordering.Step) string {
	switch {
	case step.Why.Rule == ordering.RulePrerequisite:
		return "prerequisites"
	case step.Layer != "":
		return step.Layer
	}
	return "(no layer)"
}

// grade returns the aggregated health of members.
func grade(members []member) health.Grade {
	grades := make([]health.Grade, len(members))
	for i, m := range members {
		grades[i] = m.grade()
	}
	return health.Aggregate(grades...)
}

// ready counts the members that are ready.
func ready(members []member) int {
	n := 0
	for _, m := range members {
		if m.Verdict == health.Ready {
			n++
		}
	}
	return n
}

// worstMember returns the first of the members with the worst grade that is not
// ready, and the number of other members that are not ready; false if all are
// ready.
func worstMember(members []member) (member, int, bool) {
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

// members returns all members of the set, each once.
func (s *setStatus) members() []member {
	var out []member
	for _, section := range s.Sections {
		if !section.IsStack {
			out = append(out, section.Members...)
		}
	}
	return out
}

// verdicts returns all members by ID.
func (s *setStatus) verdicts() map[object.ID]member {
	out := map[object.ID]member{}
	for _, m := range s.members() {
		out[m.ID] = m
	}
	return out
}
