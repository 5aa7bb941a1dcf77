package history

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// revisionIdentity decides whether two revisions of one cluster are the same. Its
// encoding is that of format v1 and does not change with the format:
// otherwise each set would get a new revision after an update of ordapply,
// and a rollback would go back to what is deployed.
type revisionIdentity struct {
	Waves     [][]idV1         `json:"waves"`
	Resources []storedResource `json:"resources"`
	Options   optionsV1        `json:"options"`
	OrderFile string           `json:"orderFile,omitempty"`
	Hooks     []storedResource `json:"hooks,omitempty"`
}

// digest returns a hash of the revision's content. Two revisions with the
// same digest apply the same. It does not depend on the sources of the
// manifests.
func (r *Revision) digest(resources []storedResource) (string, error) {
	id := revisionIdentity{Resources: resources, Options: optionsAsV1(r.Options), OrderFile: r.OrderFile}
	var err error
	if id.Hooks, err = r.storeHooks(); err != nil {
		return "", err
	}
	id.Waves = make([][]idV1, len(r.Plan.Waves))
	for _, step := range r.Plan.Steps {
		id.Waves[step.Wave] = append(id.Waves[step.Wave], idV1(step.ID))
	}
	text, err := json.Marshal(id)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

type idV1 struct{ Group, Kind, Namespace, Name string }

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
