package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/test/auditlog"
	"github.com/ordapply/ordapply/object"
)

// Plan is what the witness reads of `ordapply plan -o json`.
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

// Proof is what the audit log shows of the gates of a plan.
type Proof struct {
	Gates   []Gate
	Missing []string // what was never written, or never ready
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

// of returns the moments of a resource. The plural of some kinds is the kind itself.
func (s sightings) of(r resource) *moments {
	if at := s[r.key()]; at != nil {
		return at
	}
	return s[auditlog.Key{Resource: strings.ToLower(r.Kind), Namespace: r.Namespace, Name: r.Name}]
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

// Prove reads an audit log from an offset, and compares the first write of each resource
// by an agent with the moment at which what it had to wait for was applied or ready.
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
	for _, s := range plan.Steps {
		for _, earlier := range plan.gates(s) {
			at, other := seen.of(s.resource), seen.of(earlier.Earlier)
			earlier.Later, earlier.Margin = s.resource, at.written.Sub(other.written)
			switch {
			case !earlier.Ready:
			case other.ready.IsZero():
				p.Missing = append(p.Missing, earlier.Earlier.String()+" was never ready, and "+s.String()+" was written")
			default:
				earlier.Margin = at.written.Sub(other.ready)
			}
			p.Gates = append(p.Gates, earlier)
		}
	}
	if len(p.Gates) == 0 {
		return p, errors.New("the plan has no gate: nothing is proven")
	}
	p.Took = took(seen)
	return p, nil
}

// gates returns what a step waits for across waves: resources, and those of layers.
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

// observe collects the moments of each object. Whatever has no status that says more is
// ready when it is written.
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
			ObservedGeneration                                                                     int64
			UpdatedReplicas, AvailableReplicas, ReadyReplicas, DesiredNumberScheduled, NumberReady int64
			Phase                                                                                  string
			Conditions                                                                             []struct{ Type, Status string }
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
		return current && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas
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
