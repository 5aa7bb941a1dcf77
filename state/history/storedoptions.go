package history

import (
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// storedOptions are ordering.Options as formats v2 to v5 store them, without
// ApplicationOf, whose result is stored with each resource. Lists without
// omitempty keep nil and empty apart, so that a decoded revision has the digest
// with which it was written. As in storedplan.go, a change needs a new format.
type storedOptions struct {
	Frame             string              `json:"frame,omitempty"`
	SkipHooks         bool                `json:"skipHooks,omitempty"`
	NoPrerequisites   bool                `json:"noPrerequisites,omitempty"`
	PrerequisiteKinds []string            `json:"prerequisiteKinds,omitempty"`
	Charts            []storedChart       `json:"charts,omitempty"`
	Stacks            []storedStack       `json:"stacks,omitempty"`
	KindTimeouts      []storedKindTimeout `json:"kindTimeouts,omitempty"`
}

type storedChart struct {
	Path         string             `json:"path"`
	DependsOn    []string           `json:"dependsOn"`
	Dependencies []storedDependency `json:"dependencies"`
}

type storedDependency struct {
	Name      string   `json:"name"`
	Alias     string   `json:"alias,omitempty"`
	Tags      []string `json:"tags"`
	DependsOn []string `json:"dependsOn"`
}

type storedStack struct {
	Name         string         `json:"name"`
	DependsOn    []string       `json:"dependsOn"`
	Timeout      storedDuration `json:"timeout,omitempty"`
	Applications []storedApp    `json:"applications"`
}

type storedApp struct {
	Name      string         `json:"name"`
	DependsOn []string       `json:"dependsOn"`
	Timeout   storedDuration `json:"timeout,omitempty"`
}

type storedKindTimeout struct {
	Kind    string         `json:"kind"`
	Timeout storedDuration `json:"timeout"`
}

func storeOptions(o ordering.Options) storedOptions {
	return storedOptions{
		Frame: string(o.OrderSource), SkipHooks: o.SkipHooks, NoPrerequisites: o.NoPrerequisites, PrerequisiteKinds: o.PrerequisiteKinds,
		Charts: mapSlice(o.Charts, func(c ordering.Chart) storedChart {
			return storedChart{c.Path, c.DependsOn, mapSlice(c.Dependencies, func(d ordering.Dependency) storedDependency {
				return storedDependency{d.Name, d.Alias, d.Tags, d.DependsOn}
			})}
		}),
		Stacks: mapSlice(o.Stacks, func(s ordering.Stack) storedStack {
			return storedStack{s.Name, s.DependsOn, storedDuration(s.Timeout), mapSlice(s.Applications, func(a ordering.App) storedApp {
				return storedApp{a.Name, a.DependsOn, storedDuration(a.Timeout)}
			})}
		}),
		KindTimeouts: mapSlice(o.KindTimeouts, func(k ordering.KindTimeout) storedKindTimeout {
			return storedKindTimeout{k.Kind, storedDuration(k.Timeout)}
		}),
	}
}

func (o storedOptions) options() ordering.Options {
	return ordering.Options{
		OrderSource: ordering.OrderSource(o.Frame), SkipHooks: o.SkipHooks, NoPrerequisites: o.NoPrerequisites, PrerequisiteKinds: o.PrerequisiteKinds,
		Charts: mapSlice(o.Charts, func(c storedChart) ordering.Chart {
			return ordering.Chart{Path: c.Path, DependsOn: c.DependsOn, Dependencies: mapSlice(c.Dependencies, func(d storedDependency) ordering.Dependency {
				return ordering.Dependency{Name: d.Name, Alias: d.Alias, Tags: d.Tags, DependsOn: d.DependsOn}
			})}
		}),
		Stacks: mapSlice(o.Stacks, func(s storedStack) ordering.Stack {
			return ordering.Stack{Name: s.Name, DependsOn: s.DependsOn, Timeout: time.Duration(s.Timeout), Applications: mapSlice(s.Applications, func(a storedApp) ordering.App {
				return ordering.App{Name: a.Name, DependsOn: a.DependsOn, Timeout: time.Duration(a.Timeout)}
			})}
		}),
		KindTimeouts: mapSlice(o.KindTimeouts, func(k storedKindTimeout) ordering.KindTimeout {
			return ordering.KindTimeout{Kind: k.Kind, Timeout: time.Duration(k.Timeout)}
		}),
	}
}
