package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/auditlog"
)

// Plan is the witness's part of `ordapply plan -o json`.
type Plan struct {
	Layers []planLayer
	Steps  []planStep
}

type planLayer struct {
	Name   string
	Within *int
}

type planStep struct {
	resource
	Wave   int
	Gate   string
	Needs  []need
	After  []barrier
	Layers []int
}

type resource struct{ Group, Kind, Namespace, Name string }

type need struct {
	resource
	Gate string
}

type barrier struct{ Layer int }

func (r resource) key() auditlog.Key {
	return auditlog.Key{Resource: object.GuessPlural(r.Kind), Namespace: r.Namespace, Name: r.Name}
}

func (r resource) String() string {
	return strings.TrimPrefix(r.Namespace+"/", "/") + r.Kind + "/" + r.Name
}

// Gate is something of a plan that had to wait for something else.
type Gate struct {
	Later, Earlier resource
	Ready          bool          // it had to wait until the other was ready, else until it was applied
	Margin         time.Duration // by how much later it was written; negative if it was early
}

// Proof is the evidence of a plan's gates in the audit log.
type Proof struct {
	Gates   []Gate
	Missing []string // resources never written, or never ready
	Took    time.Duration
}

// Broken returns the gates that were passed early, as text.
func (p Proof) Broken() []string {
	var out []string
	for _, g := range p.Gates {
		if g.Margin <= 0 {
			out = append(out, fmt.Sprintf("%s was written %s before %s was there", g.Later, -g.Margin, g.Earlier))
		}
	}
	return out
}

// moments are the times of one object.
type moments struct{ written, ready time.Time }

// sightings are the moments of the objects that an audit log has.
type sightings map[auditlog.Key]*moments

// of returns the moments of a resource. The plural of some kinds is the kind itself. A
// plan without a cluster has a namespace for kinds whose CRD is not in the stream, such as
// one that Gatekeeper makes of a ConstraintTemplate; they may have none.
func (s sightings) of(r resource) *moments {
	for _, plural := range []string{object.GuessPlural(r.Kind), strings.ToLower(r.Kind)} {
		for _, namespace := range []string{r.Namespace, ""} {
			if at := s[auditlog.Key{Resource: plural, Namespace: namespace, Name: r.Name}]; at != nil {
				return at
			}
		}
		if object.IsNative(r.Group) {
			break
		}
	}
	return nil
}

// Unwritten names the resources of a plan that an agent has not written yet.
func Unwritten(plan Plan, log string, from int64, agent string) ([]string, error) {
	requests, err := auditlog.Requests(log, from)
	if err != nil {
		return nil, err
	}
	seen := observe(requests, agent)
	var missing []string
	for _, s := range plan.Steps {
		if seen.of(s.resource) == nil {
			missing = append(missing, s.String())
		}
	}
	return missing, nil
}

// Prove reads an audit log from an offset, and compares the first write of each resource by
// an agent with the moment at which its prerequisite was applied or ready.
func Prove(plan Plan, log string, from int64, agent string) (Proof, error) {
	requests, err := auditlog.Requests(log, from)
	if err != nil {
		return Proof{}, err
	}
	seen := observe(requests, agent)
	var p Proof
	for _, s := range plan.Steps {
		if seen.of(s.resource) == nil {
			p.Missing = append(p.Missing, s.String()+" was never written")
		}
	}
	if len(p.Missing) > 0 {
		return p, nil
	}
	p.compare(plan, seen, plan.gates, func(resource) bool { return true })
	p.Took = took(seen)
	return p, p.something()
}

// ProveRevision is Prove for a run in which only some resources changed: it compares
// these, by name, with each other.
func ProveRevision(plan Plan, log string, from int64, agent string, changed ...string) (Proof, error) {
	requests, err := auditlog.Requests(log, from)
	if err != nil {
		return Proof{}, err
	}
	seen := observe(requests, agent)
	var p Proof
	among := func(r resource) bool { return slices.Contains(changed, r.Name) }
	for _, s := range plan.Steps {
		if among(s.resource) && seen.of(s.resource) == nil {
			p.Missing = append(p.Missing, s.String()+" was never written")
		}
	}
	if len(p.Missing) == 0 {
		p.compare(plan, seen, plan.closure, among)
	}
	return p, p.something()
}

// compare adds the gates of steps between the resources that count.
func (p *Proof) compare(plan Plan, seen sightings, gates func(planStep) []Gate, counts func(resource) bool) {
	for _, s := range plan.Steps {
		if !counts(s.resource) {
			continue
		}
		for _, g := range gates(s) {
			if !counts(g.Earlier) {
				continue
			}
			at, other := seen.of(s.resource), seen.of(g.Earlier)
			g.Later, g.Margin = s.resource, at.written.Sub(other.written)
			switch {
			case !g.Ready:
			case other.ready.IsZero():
				p.Missing = append(p.Missing, g.Earlier.String()+" was never ready, and "+s.String()+" was written")
			default:
				g.Margin = at.written.Sub(other.ready)
			}
			p.Gates = append(p.Gates, g)
		}
	}
}

// something returns an error if nothing is proven.
func (p *Proof) something() error {
	if len(p.Gates) == 0 && len(p.Missing) == 0 {
		return errors.New("the plan has no gate: nothing is proven")
	}
	return nil
}

// ProveDeletion reads an audit log from an offset, and compares the deletion of each
// prerequisite with the moment at which its dependents were gone. Missing has undeleted
// resources.
func ProveDeletion(plan Plan, log string, from int64, agent string) (Proof, error) {
	requests, err := auditlog.Requests(log, from)
	if err != nil {
		return Proof{}, err
	}
	deleted, gone := sightings{}, sightings{}
	for _, r := range requests {
		if r.Code >= 300 || r.DryRun || !slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) {
			continue
		}
		if r.Verb == "delete" && deleted[r.Key] == nil && strings.Contains(r.UserAgent, agent) {
			deleted[r.Key] = &moments{written: r.Arrived}
		}
		if deleted[r.Key] != nil {
			gone[r.Key] = &moments{written: r.Answered} // until the last write of anybody
		}
	}
	var p Proof
	for _, s := range plan.Steps {
		if deleted.of(s.resource) == nil {
			p.Missing = append(p.Missing, s.String())
		}
	}
	for _, s := range plan.Steps {
		for _, g := range plan.gates(s) {
			before, after := deleted.of(g.Earlier), gone.of(s.resource)
			if before == nil || after == nil {
				continue
			}
			g.Later, g.Margin = s.resource, before.written.Sub(after.written)
			p.Gates = append(p.Gates, g)
		}
	}
	return p, p.something()
}

// gates returns the gates of a step across waves: on resources and on layers.
func (p Plan) gates(s planStep) []Gate {
	var out []Gate
	waves := map[auditlog.Key]int{}
	for _, other := range p.Steps {
		waves[other.key()] = other.Wave
	}
	for _, n := range s.Needs {
		if waves[n.key()] < s.Wave {
			out = append(out, Gate{Earlier: n.resource, Ready: n.Gate == "ready"})
		}
	}
	for _, b := range s.After {
		for _, other := range p.Steps {
			if p.isWithin(other, b.Layer) {
				out = append(out, Gate{Earlier: other.resource, Ready: other.Gate == "ready"})
			}
		}
	}
	return out
}

// closure returns the gates of a step and of its prerequisites: in a revision the resources
// between two that changed need not change.
func (p Plan) closure(s planStep) []Gate {
	steps := map[auditlog.Key]planStep{}
	for _, other := range p.Steps {
		steps[other.key()] = other
	}
	var out []Gate
	type end struct {
		auditlog.Key
		ready bool
	}
	seen := map[end]bool{}
	for next := []planStep{s}; len(next) > 0; next = next[1:] {
		for _, g := range p.gates(next[0]) {
			if key := (end{g.Earlier.key(), g.Ready}); !seen[key] {
				seen[key] = true
				out = append(out, g)
				next = append(next, steps[key.Key])
			}
		}
	}
	return out
}

// isWithin reports whether a layer, or one around it, lists the step.
func (p Plan) isWithin(s planStep, layer int) bool {
	return slices.ContainsFunc(s.Layers, func(l int) bool {
		for {
			if l == layer {
				return true
			}
			if p.Layers[l].Within == nil || *p.Layers[l].Within < 0 {
				return false
			}
			l = *p.Layers[l].Within
		}
	})
}

// observe collects the moments of each object. Objects without a status to judge are ready
// when written.
func observe(requests []auditlog.Request, agent string) sightings {
	seen := sightings{}
	for _, r := range requests {
		if r.Code >= 300 || r.DryRun || !slices.Contains([]string{"create", "update", "patch"}, r.Verb) {
			continue
		}
		at := seen[r.Key]
		switch {
		case r.Subresource == "" && at == nil && strings.Contains(r.UserAgent, agent):
			at = &moments{written: r.Arrived}
			seen[r.Key] = at
			if !hasStatus(r.Resource) {
				at.ready = r.Answered
			}
		case r.Subresource == "status" && at != nil && at.ready.IsZero() && isReady(r):
			at.ready = r.Arrived
		}
	}
	return seen
}

// took is the time from the first write to the last resource that became ready.
func took(seen sightings) time.Duration {
	var first, last time.Time
	for _, at := range seen {
		if first.IsZero() || at.written.Before(first) {
			first = at.written
		}
		if at.ready.After(last) {
			last = at.ready
		}
	}
	return last.Sub(first)
}

// hasStatus reports whether objects of a resource become ready by their status. The audit
// log has the status of these.
func hasStatus(resource string) bool {
	return slices.Contains([]string{"deployments", "statefulsets", "daemonsets", "jobs", "customresourcedefinitions", "persistentvolumeclaims"}, resource)
}

// isReady judges the status that a request has written.
func isReady(r auditlog.Request) bool {
	var obj struct {
		Metadata struct{ Generation int64 }
		Spec     struct{ Replicas *int64 }
		Status   struct {
			ObservedGeneration                                                                               int64
			Replicas, UpdatedReplicas, AvailableReplicas, ReadyReplicas, DesiredNumberScheduled, NumberReady int64
			Phase                                                                                            string
			Conditions                                                                                       []struct{ Type, Status string }
		}
	}
	if json.Unmarshal(r.Object, &obj) != nil {
		return false
	}
	is := func(condition string) bool {
		return slices.ContainsFunc(obj.Status.Conditions, func(c struct{ Type, Status string }) bool { return c.Type == condition && c.Status == "True" })
	}
	replicas, s := int64(1), obj.Status
	if obj.Spec.Replicas != nil {
		replicas = *obj.Spec.Replicas
	}
	current := s.ObservedGeneration >= obj.Metadata.Generation
	switch r.Resource {
	case "deployments":
		return current && s.Replicas == replicas && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas
	case "statefulsets":
		return current && s.UpdatedReplicas == replicas && s.ReadyReplicas == replicas
	case "daemonsets":
		return current && s.NumberReady == s.DesiredNumberScheduled && s.DesiredNumberScheduled > 0
	case "jobs":
		return is("Complete")
	case "persistentvolumeclaims":
		return s.Phase == "Bound"
	default:
		return is("Established")
	}
}
