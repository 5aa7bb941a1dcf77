package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/testcluster"
)

// planned is what `ordapply plan -o json` says about the order.
type planned struct {
	Layers []struct{ Within *int }
	Steps  []plannedStep
	Hooks  []struct {
		object.ID
		Event string
	}
}

type plannedStep struct {
	object.ID
	Gate   string
	Needs  []plannedNeed
	After  []struct{ Layer int }
	Layers []int
}

type plannedNeed struct {
	object.ID
	Gate string
}

// plan returns the plan of a file.
func (p *place) plan(ctx context.Context, file string, flags []string) (found planned, err error) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		return found, errors.New("the ordapply command is missing: run make build")
	}
	got, err := command(ctx, append([]string{bin, "plan", "--dry-run=client", "-o", "json", "-f", file}, flags...))
	if err == nil && got.code != 0 {
		err = fmt.Errorf("ordapply plan ended with exit code %d:\n%s", got.code, lastLines(got.stderr, 5))
	}
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal([]byte(got.stdout), &found)
}

// moment are the times of an object.
type moment struct {
	sent     time.Time // arrival of the first request that wrote it
	accepted time.Time // answer to that request
	ready    time.Time // answer to the write that made it ready; without a status, accepted
	early    time.Time // arrival of that write: a watch may see it before the answer
	exact    bool      // the log has the version that the observer saw
}

// moments are the times of the objects that an audit log has, one after another if an object was
// deleted and created again, as a hook for its next run is. Only of the first is known when it was ready: the
// others count until they are accepted.
type moments map[auditlog.Key][]*moment

// momentsOf reads what an agent has written, and when the observer saw it ready.
func momentsOf(log string, o *observer.Observer, agent string) (moments, error) {
	requests, err := auditlog.Requests(log, 0)
	if err != nil {
		return nil, err
	}
	return momentsIn(requests, o.Seen, agent), nil
}

func momentsIn(requests []auditlog.Request, seen func(auditlog.Key) (observer.Sight, bool), agent string) moments {
	m, living := moments{}, map[auditlog.Key]*moment{}
	for _, r := range requests {
		if r.Code >= 300 || r.DryRun || !slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) {
			continue
		}
		if r.Verb == "delete" {
			delete(living, r.Key)
			continue
		}
		at := living[r.Key]
		if at == nil {
			if r.Subresource != "" || !strings.HasPrefix(r.UserAgent, agent) {
				continue
			}
			at = &moment{sent: r.Arrived, accepted: r.Answered, ready: r.Answered, early: r.Answered}
			living[r.Key] = at
			m[r.Key] = append(m[r.Key], at)
		}
		// Where the log has no versions, the last write before the observer's sight made the
		// object what was seen.
		sight, ok := seen(r.Key)
		exact := ok && sight.ResourceVersion != "" && versionOf(r) == sight.ResourceVersion
		if exact || ok && !at.exact && !r.Arrived.After(sight.Seen) && r.Answered.After(at.ready) {
			at.ready, at.early, at.exact = r.Answered, r.Arrived, exact
		}
	}
	return m
}

// versionOf returns the version that a request made; "" if the log does not have it.
func versionOf(r auditlog.Request) string {
	var answer struct {
		Metadata struct{ ResourceVersion string }
	}
	if r.Object == nil || json.Unmarshal(r.Object, &answer) != nil {
		return ""
	}
	return answer.Metadata.ResourceVersion
}

// of returns the times of a resource; the first, if it was created again, and the last.
func (m moments) of(id object.ID) (first, last moment, ok bool) {
	for _, k := range keysOf(id) {
		if all := m[k]; len(all) > 0 {
			return *all[0], *all[len(all)-1], true
		}
	}
	return moment{}, moment{}, false
}

// keysOf returns the keys that a resource may have: the plural of some kinds is the kind
// itself, and a plan without a cluster does not know whether a kind has namespaces.
func keysOf(id object.ID) []auditlog.Key {
	var keys []auditlog.Key
	namespaces := []string{id.Namespace, ""}
	if id.Namespace == "" {
		namespaces = []string{"", "default"}
	}
	for _, plural := range []string{object.GuessPlural(id.Kind), strings.ToLower(id.Kind)} {
		for _, namespace := range namespaces {
			keys = append(keys, auditlog.Key{Resource: plural, Namespace: namespace, Name: id.Name})
		}
	}
	return keys
}

// critical returns the longest chain of the plan's resources by their own times: each from
// the request that wrote it until it is accepted, or ready if the next one had to wait for
// that. Where a gate yielded in the run, the chain goes the other way: the resource that was to be
// ready first may wait for the next one, so its own time goes on when that is sent.
// Hooks before and after the install run one after the other. Resources without a time, which
// were not sent, take none.
func (p planned) critical(m moments) time.Duration {
	c := chains{planned: p, moments: m, steps: map[object.ID]plannedStep{}, begins: map[object.ID]time.Duration{}}
	for _, s := range p.Steps {
		c.steps[s.ID] = s
	}
	before, _ := c.hooks("pre-install")
	after, first := c.hooks("post-install")
	longest, late := time.Duration(0), time.Duration(0)
	for _, s := range p.Steps {
		at, sent := c.of(s.ID)
		switch {
		case !sent:
		case !first.IsZero() && first.Before(at.early):
			longest = max(longest, c.begin(s)+at.accepted.Sub(at.sent))
			late = max(late, at.ready.Sub(first))
		default:
			longest = max(longest, c.end(s, at))
		}
	}
	return before + longest + max(after, late)
}

// chains are the chains of a plan in a run.
type chains struct {
	planned
	moments moments
	steps   map[object.ID]plannedStep
	begins  map[object.ID]time.Duration // of the resources whose begin is known
}

// of returns the times of a resource, which is not a hook: its first ones.
func (c chains) of(id object.ID) (moment, bool) {
	at, _, sent := c.moments.of(id)
	return at, sent
}

// begin returns the length of the longest chain before a resource.
func (c chains) begin(s plannedStep) time.Duration {
	if known, ok := c.begins[s.ID]; ok {
		return known
	}
	c.begins[s.ID] = 0 // also ends a cycle, which a plan does not have
	at, _ := c.of(s.ID)
	latest := time.Duration(0)
	for _, n := range c.gates(s) {
		before, sent := c.of(n.ID)
		if !sent {
			continue
		}
		own := before.accepted.Sub(before.sent)
		if n.Gate == "ready" && !at.sent.Before(before.early) {
			own = before.ready.Sub(before.sent)
		}
		own = min(own, at.sent.Sub(before.sent)) // a watch may have seen it before the answer
		latest = max(latest, c.begin(c.steps[n.ID])+own)
	}
	c.begins[s.ID] = latest
	return latest
}

// end returns the length of the longest chain until a resource is ready.
func (c chains) end(s plannedStep, at moment) time.Duration {
	end := c.begin(s) + at.ready.Sub(at.sent)
	for _, next := range c.Steps {
		then, sent := c.of(next.ID)
		if !sent || !then.sent.Before(at.early) {
			continue
		}
		if slices.ContainsFunc(c.gates(next), func(n plannedNeed) bool { return n.ID == s.ID && n.Gate == "ready" }) { // it yielded
			end = min(end, c.begin(next)+at.ready.Sub(then.sent))
		}
	}
	return end
}

// hooks returns the time of the hooks of an event, and when the first was sent; zero if none was. A hook
// of both events runs twice.
func (c chains) hooks(event string) (all time.Duration, first time.Time) {
	ran := map[object.ID]bool{}
	for _, h := range c.Hooks {
		at, last, sent := c.moments.of(h.ID)
		if !sent || ran[h.ID] || h.Event != event {
			continue
		}
		if event == "post-install" {
			at = last
		}
		ran[h.ID] = true
		all += at.ready.Sub(at.sent)
		if first.IsZero() || at.sent.Before(first) {
			first = at.sent
		}
	}
	return all, first
}

// gates returns the resources that a step waits for, by itself and by its layers.
func (p planned) gates(s plannedStep) []plannedNeed {
	gates := slices.Clone(s.Needs)
	for _, after := range s.After {
		for _, other := range p.Steps {
			if slices.ContainsFunc(other.Layers, func(l int) bool { return p.isWithin(l, after.Layer) }) {
				gates = append(gates, plannedNeed{other.ID, other.Gate})
			}
		}
	}
	return gates
}

// isWithin reports whether a layer is another one, or lies in it.
func (p planned) isWithin(layer, other int) bool {
	for {
		if layer == other {
			return true
		}
		within := p.Layers[layer].Within
		if within == nil || *within < 0 {
			return false
		}
		layer = *within
	}
}
