package state

import (
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// storedOptions are ordering.Options as format v2 stores them, without the
// function: its answer for each resource is stored with the resource. Lists
// without omitempty keep nil apart from empty, so that a revision that was read
// has the digest that it was written with. The rule of storedplan.go holds here
// too: a change needs a new format.
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
		Frame: string(o.Frame), SkipHooks: o.SkipHooks, NoPrerequisites: o.NoPrerequisites, PrerequisiteKinds: o.PrerequisiteKinds,
		Charts: converted(o.Charts, func(c ordering.Chart) storedChart {
			return storedChart{c.Path, c.DependsOn, converted(c.Dependencies, func(d ordering.Dependency) storedDependency {
				return storedDependency{d.Name, d.Alias, d.Tags, d.DependsOn}
			})}
		}),
		Stacks: converted(o.Stacks, func(s ordering.Stack) storedStack {
			return storedStack{s.Name, s.DependsOn, storedDuration(s.Timeout), converted(s.Applications, func(a ordering.App) storedApp {
				return storedApp{a.Name, a.DependsOn, storedDuration(a.Timeout)}
			})}
		}),
		KindTimeouts: converted(o.KindTimeouts, func(k ordering.KindTimeout) storedKindTimeout {
			return storedKindTimeout{k.Kind, storedDuration(k.Timeout)}
		}),
	}
}

func (o storedOptions) options() ordering.Options {
	return ordering.Options{
		Frame: ordering.Frame(o.Frame), SkipHooks: o.SkipHooks, NoPrerequisites: o.NoPrerequisites, PrerequisiteKinds: o.PrerequisiteKinds,
		Charts: converted(o.Charts, func(c storedChart) ordering.Chart {
			return ordering.Chart{Path: c.Path, DependsOn: c.DependsOn, Dependencies: converted(c.Dependencies, func(d storedDependency) ordering.Dependency {
				return ordering.Dependency{Name: d.Name, Alias: d.Alias, Tags: d.Tags, DependsOn: d.DependsOn}
			})}
		}),
		Stacks: converted(o.Stacks, func(s storedStack) ordering.Stack {
			return ordering.Stack{Name: s.Name, DependsOn: s.DependsOn, Timeout: time.Duration(s.Timeout), Applications: converted(s.Applications, func(a storedApp) ordering.App {
				return ordering.App{Name: a.Name, DependsOn: a.DependsOn, Timeout: time.Duration(a.Timeout)}
			})}
		}),
		KindTimeouts: converted(o.KindTimeouts, func(k storedKindTimeout) ordering.KindTimeout {
			return ordering.KindTimeout{Kind: k.Kind, Timeout: time.Duration(k.Timeout)}
		}),
	}
}
