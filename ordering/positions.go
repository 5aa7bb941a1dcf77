package ordering

import (
	"strings"

	"github.com/ordapply/ordapply/object"
)

// Positions finds the steps of a plan by ID.
type Positions map[object.ID]int

// Positions returns the positions of the plan's steps.
func (p *Plan) Positions() Positions {
	positions := make(Positions, len(p.Steps))
	for i, s := range p.Steps {
		positions[s.ID] = i
	}
	return positions
}

// HasNamespace reports whether the plan contains a Namespace.
func (p Positions) HasNamespace(name string) bool {
	_, ok := p[object.ID{Kind: "Namespace", Name: name}]
	return ok
}

// HasServiceAccount reports whether the plan contains a ServiceAccount, given as
// namespace/name, or its Namespace for the default one; false for "".
func (p Positions) HasServiceAccount(account string) bool {
	namespace, name, _ := strings.Cut(account, "/")
	_, ok := p[object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: name}]
	return account != "" && (ok || name == "default" && p.HasNamespace(namespace))
}
