package state

import (
	"fmt"
	"time"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The types of this file are those of format v1: plans with the names of Go's
// fields, gates as numbers and durations in nanoseconds. They are only
// written for the digest; see digest.go.

type documentV1 struct {
	Cluster   string           `json:"cluster"`
	Resources []storedResource `json:"resources"`
	Options   optionsV1        `json:"options"`
	OrderFile string           `json:"orderFile"`
	Plan      *planV1          `json:"plan"`
}

func (d documentV1) revision() (*Revision, error) {
	if d.Plan == nil {
		return nil, errNoPlan
	}
	plan, err := d.Plan.plan()
	return &Revision{Cluster: d.Cluster, OrderFile: d.OrderFile, Options: d.Options.options(), Plan: plan}, err
}

type planV1 struct {
	Steps   []stepV1
	Waves   []waveV1
	Layers  []layerV1
	Frame   string
	Skipped []skippedV1
	Dropped []droppedV1
	Notes   []string
}

type stepV1 struct {
	ID       idV1
	Source   string
	Wave     int
	ReadyBy  int
	Layer    string
	Gate     gateV1
	Timeout  time.Duration
	Needs    []needV1
	After    []barrierV1
	Layers   []int
	External []needV1
	MadeBy   []idV1
	Why      reasonV1
}

type needV1 struct {
	ID   idV1
	Gate gateV1
	Why  reasonV1
	Hard bool
}

type barrierV1 struct {
	Layer int
	Why   reasonV1
}

type layerV1 struct {
	Name    string
	Kind    string
	Within  int
	Gate    gateV1
	After   []barrierV1
	Timeout time.Duration
}

type reasonV1 struct{ Rule, Detail, Where string }

type waveV1 struct {
	Name    string
	Timeout time.Duration
}

type skippedV1 struct {
	ID  idV1
	Why reasonV1
}

type droppedV1 struct {
	ID      idV1
	Need    needV1
	Because []edgeV1
}

type edgeV1 struct {
	From, To string
	Why      reasonV1
}

type idV1 struct{ Group, Kind, Namespace, Name string }

// gateV1 is 0 for ready and 1 for applied.
type gateV1 int

type optionsV1 struct {
	Frame             string          `json:"frame,omitempty"`
	SkipHooks         bool            `json:"skipHooks,omitempty"`
	NoPrerequisites   bool            `json:"noPrerequisites,omitempty"`
	PrerequisiteKinds []string        `json:"prerequisiteKinds,omitempty"`
	Charts            []chartV1       `json:"charts,omitempty"`
	Stacks            []stackV1       `json:"stacks,omitempty"`
	KindTimeouts      []kindTimeoutV1 `json:"kindTimeouts,omitempty"`
}

type chartV1 struct {
	Path         string
	DependsOn    []string
	Dependencies []dependencyV1
}

type dependencyV1 struct {
	Name, Alias string
	Tags        []string
	DependsOn   []string
}

type stackV1 struct {
	Name         string
	DependsOn    []string
	Timeout      time.Duration
	Applications []appV1
}

type appV1 struct {
	Name      string
	DependsOn []string
	Timeout   time.Duration
}

type kindTimeoutV1 struct {
	Kind    string
	Timeout time.Duration
}

func (g gateV1) check() error {
	if g != 0 && g != 1 {
		return fmt.Errorf("unknown gate %d in format v1", int(g))
	}
	return nil
}

func (g gateV1) gate() ordering.Gate {
	if g == 1 {
		return ordering.Applied
	}
	return ordering.Ready
}

// plan converts the stored plan.
func (p planV1) plan() (*ordering.Plan, error) {
	if err := p.checkGates(); err != nil {
		return nil, err
	}
	return &ordering.Plan{
		OrderSource: ordering.OrderSource(p.Frame),
		Waves:       mapSlice(p.Waves, func(w waveV1) ordering.Wave { return ordering.Wave{Name: w.Name, Timeout: w.Timeout} }),
		Layers:      mapSlice(p.Layers, layerV1.layer),
		Steps:       mapSlice(p.Steps, stepV1.step),
		Skipped: mapSlice(p.Skipped, func(s skippedV1) ordering.Skipped {
			return ordering.Skipped{ID: object.ID(s.ID), Why: ordering.Reason(s.Why)}
		}),
		Dropped: mapSlice(p.Dropped, func(d droppedV1) ordering.Dropped {
			return ordering.Dropped{ID: object.ID(d.ID), Need: d.Need.need(), Because: mapSlice(d.Because, func(e edgeV1) ordering.CycleEdge {
				return ordering.CycleEdge{From: e.From, To: e.To, Why: ordering.Reason(e.Why)}
			})}
		}),
		Notes: p.Notes,
	}, nil
}

func (p planV1) checkGates() error {
	var gates []gateV1
	for _, l := range p.Layers {
		gates = append(gates, l.Gate)
	}
	for _, s := range p.Steps {
		gates = append(gates, s.Gate)
		for _, n := range s.Needs {
			gates = append(gates, n.Gate)
		}
		for _, n := range s.External {
			gates = append(gates, n.Gate)
		}
	}
	for _, g := range gates {
		if err := g.check(); err != nil {
			return err
		}
	}
	return nil
}

func (s stepV1) step() ordering.Step {
	return ordering.Step{
		ID: object.ID(s.ID), Source: s.Source, Wave: s.Wave, ReadyBy: s.ReadyBy, Layer: s.Layer,
		Gate: s.Gate.gate(), Timeout: s.Timeout,
		Needs: mapSlice(s.Needs, needV1.need), After: mapSlice(s.After, barrierV1.barrier), Layers: s.Layers,
		External: mapSlice(s.External, needV1.need), ProvidedBy: mapSlice(s.MadeBy, func(id idV1) object.ID { return object.ID(id) }),
		Why: ordering.Reason(s.Why),
	}
}

func (n needV1) need() ordering.Need {
	return ordering.Need{ID: object.ID(n.ID), Gate: n.Gate.gate(), Why: ordering.Reason(n.Why), Hard: n.Hard}
}

func (b barrierV1) barrier() ordering.Barrier {
	return ordering.Barrier{Layer: b.Layer, Why: ordering.Reason(b.Why)}
}

func (l layerV1) layer() ordering.Layer {
	return ordering.Layer{
		Name: l.Name, Kind: ordering.LayerKind(l.Kind), Within: l.Within, Gate: l.Gate.gate(),
		After: mapSlice(l.After, barrierV1.barrier), Timeout: l.Timeout,
	}
}

func optionsAsV1(o ordering.Options) optionsV1 {
	return optionsV1{
		Frame: string(o.OrderSource), SkipHooks: o.SkipHooks, NoPrerequisites: o.NoPrerequisites, PrerequisiteKinds: o.PrerequisiteKinds,
		Charts: mapSlice(o.Charts, func(c ordering.Chart) chartV1 {
			return chartV1{c.Path, c.DependsOn, mapSlice(c.Dependencies, func(d ordering.Dependency) dependencyV1 {
				return dependencyV1{d.Name, d.Alias, d.Tags, d.DependsOn}
			})}
		}),
		Stacks: mapSlice(o.Stacks, func(s ordering.Stack) stackV1 {
			return stackV1{s.Name, s.DependsOn, s.Timeout, mapSlice(s.Applications, func(a ordering.App) appV1 {
				return appV1{a.Name, a.DependsOn, a.Timeout}
			})}
		}),
		KindTimeouts: mapSlice(o.KindTimeouts, func(k ordering.KindTimeout) kindTimeoutV1 { return kindTimeoutV1{k.Kind, k.Timeout} }),
	}
}

func (o optionsV1) options() ordering.Options {
	return ordering.Options{
		OrderSource: ordering.OrderSource(o.Frame), SkipHooks: o.SkipHooks, NoPrerequisites: o.NoPrerequisites, PrerequisiteKinds: o.PrerequisiteKinds,
		Charts: mapSlice(o.Charts, func(c chartV1) ordering.Chart {
			return ordering.Chart{Path: c.Path, DependsOn: c.DependsOn, Dependencies: mapSlice(c.Dependencies, func(d dependencyV1) ordering.Dependency {
				return ordering.Dependency{Name: d.Name, Alias: d.Alias, Tags: d.Tags, DependsOn: d.DependsOn}
			})}
		}),
		Stacks: mapSlice(o.Stacks, func(s stackV1) ordering.Stack {
			return ordering.Stack{Name: s.Name, DependsOn: s.DependsOn, Timeout: s.Timeout, Applications: mapSlice(s.Applications, func(a appV1) ordering.App {
				return ordering.App{Name: a.Name, DependsOn: a.DependsOn, Timeout: a.Timeout}
			})}
		}),
		KindTimeouts: mapSlice(o.KindTimeouts, func(k kindTimeoutV1) ordering.KindTimeout {
			return ordering.KindTimeout{Kind: k.Kind, Timeout: k.Timeout}
		}),
	}
}
