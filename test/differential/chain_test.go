package differential

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
)

// chain is an object with its edits.
type chain struct {
	document *yaml.Node     // from which it was drawn; nil for an object of a stream
	name     string         // of the object
	first    map[string]any // its first manifest
	accepted map[string]any // the last one that both tools applied; nil if there is none
	wanted   map[string]any // the one that is applied now
	past     []step         // earlier applies and writes
	scaled   bool           // an autoscaler of the batch names it
	over     bool           // only one tool refused it: later steps compare nothing
	same     bool           // the manifest is that of the last apply, and ordapply sent nothing
	found    []difference   // of the last step, explained by no row; later steps would only repeat them
}

// step is an event of an object: a manifest is applied, or another manager writes.
type step struct {
	manifest map[string]any
	write    *write
}

// batch is a number of chains that take each step together, in one run of each tool.
type batch struct {
	pair
	*rand.Rand
	chains []*chain
	report *report
}

// run takes all steps.
func (b *batch) run(ctx context.Context) error {
	if err := b.create(ctx); err != nil {
		return err
	}
	return b.change(ctx)
}

// change takes all steps after the creation.
func (b *batch) change(ctx context.Context) error {
	for _, step := range []func(context.Context) error{b.again, b.edit, b.interfere, b.edit, b.edit, b.again} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// going returns the chains in which no difference was found, and of these the applied ones.
func (b *batch) going(applied bool) []*chain {
	var going []*chain
	for _, c := range b.chains {
		if !c.over && len(c.found) == 0 && (c.accepted != nil || !applied) {
			going = append(going, c)
		}
	}
	return going
}

func (b *batch) create(ctx context.Context) error {
	for _, c := range b.chains {
		c.wanted = c.first
	}
	return b.apply(ctx, b.going(false))
}

func (b *batch) edit(ctx context.Context) error {
	for _, c := range b.going(false) {
		before := c.accepted
		if before == nil {
			before = c.first
		}
		c.wanted = edit(b.Rand, before, c.other(b.Rand))
	}
	return b.apply(ctx, b.going(false))
}

// other draws another object of the same kind and name; nil for objects of streams.
func (c *chain) other(r *rand.Rand) map[string]any {
	if c.document == nil {
		return nil
	}
	return copied((&artist{Rand: r}).object(c.document, c.name))
}

// apply applies each chain's wanted manifest on both sides, and compares the results.
func (b *batch) apply(ctx context.Context, chains []*chain) error {
	if len(chains) == 0 {
		return nil
	}
	markScaled(chains)
	ours, theirs, err := b.applied(ctx, chains)
	if err != nil {
		return err
	}
	for _, c := range chains {
		id := idOf(c.wanted)
		b.judge(c, ours.outcomes[id], theirs.outcomes[id], compare(c.wanted, ours.live[id], theirs.live[id]))
	}
	return nil
}

// result is a side's object after a step.
type result struct {
	outcomes map[object.ID]outcome
	live     map[object.ID]*unstructured.Unstructured
}

func (b *batch) applied(ctx context.Context, chains []*chain) (ours, theirs result, err error) {
	var objects []map[string]any
	for _, c := range chains {
		objects = append(objects, c.wanted)
	}
	err = b.both(func(s *side) error {
		outcomes, err := s.applyAll(ctx, objects)
		found := result{outcomes, s.read(ctx, objects)}
		if s == b.ours {
			ours = found
		} else {
			theirs = found
		}
		return err
	})
	return ours, theirs, err
}

// judge notes the result of a step of one chain.
func (b *batch) judge(c *chain, ours, theirs outcome, differences []difference) {
	if ours.refused != theirs.refused { // their objects differ as a consequence
		differences = []difference{{what: refused, ours: because(ours), theirs: because(theirs)}}
	}
	c.same = ours.unchanged && reflect.DeepEqual(c.wanted, c.accepted)
	c.over = ours.refused != theirs.refused
	c.found = b.report.note(c, differences, ours.refused && theirs.refused)
	if len(c.found) == 0 && !ours.refused && !theirs.refused {
		c.past = append(c.past, step{manifest: c.wanted})
		c.accepted = c.wanted
	}
}

// accepts is the result of a tool that refuses nothing.
const accepts = "accepts it"

func because(o outcome) string {
	if !o.refused {
		return accepts
	}
	return "refuses it: " + strings.TrimSpace(o.why)
}

// again applies the same manifests again: nothing is sent, unless kubectl writes, too.
func (b *batch) again(ctx context.Context) error {
	for _, c := range b.going(true) {
		c.wanted = c.accepted
	}
	return b.applyAgain(ctx, b.going(true))
}

func (b *batch) applyAgain(ctx context.Context, chains []*chain) error {
	if len(chains) == 0 {
		return nil
	}
	var objects []map[string]any
	for _, c := range chains {
		objects = append(objects, c.wanted)
	}
	ours, theirs := b.ours.read(ctx, objects), b.theirs.read(ctx, objects)
	oursAfter, theirsAfter, err := b.applied(ctx, chains)
	if err != nil {
		return err
	}
	for _, c := range chains {
		id := idOf(c.wanted)
		of := oursAfter.outcomes[id]
		differences := compare(c.wanted, oursAfter.live[id], theirsAfter.live[id])
		wrote, kubectlWrote := version(ours[id]) != version(oursAfter.live[id]), version(theirs[id]) != version(theirsAfter.live[id])
		switch {
		case of.refused || kubectlWrote:
		case wrote:
			differences = append(differences, difference{what: written, ours: "wrote it", theirs: "wrote nothing"})
		case !of.unchanged:
			b.report.sentAgain()
		}
		b.judge(c, of, theirsAfter.outcomes[id], differences)
	}
	return nil
}

func version(live *unstructured.Unstructured) string {
	if live == nil {
		return "absent"
	}
	return live.GetResourceVersion()
}

// interfere lets another field manager write some fields of the live objects.
func (b *batch) interfere(ctx context.Context) error {
	var writes []*write
	for _, c := range b.going(true) {
		writes = append(writes, drawWrite(b.Rand, c.accepted, c.other(b.Rand)))
	}
	b.writeAll(ctx, b.going(true), writes)
	return nil
}

// writeAll sends a write to each chain's object.
func (b *batch) writeAll(ctx context.Context, chains []*chain, writes []*write) {
	_ = b.both(func(s *side) error {
		for i, c := range chains {
			s.patch(ctx, c.accepted, writes[i])
		}
		return nil
	})
	for i, c := range chains {
		c.past = append(c.past, step{write: writes[i]})
	}
}

func text(o map[string]any) string {
	out, err := sigsyaml.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// markScaled marks the chains whose objects an autoscaler among them names.
func markScaled(chains []*chain) {
	targets := map[string]bool{}
	for _, c := range chains {
		if c.kind() == "HorizontalPodAutoscaler" || c.kind() == "ScaledObject" {
			name, _ := at(c.wanted, path{"spec", "scaleTargetRef", "name"})
			text, _ := name.(string)
			targets[text] = true
		}
	}
	for _, c := range chains {
		c.scaled = c.scaled || targets[idOf(c.wanted).Name]
	}
}
