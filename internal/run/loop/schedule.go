package loop

import "fmt"

// Schedule selects how a plan's order is enforced. Each keeps all edges and layers.
type Schedule int

// Values of Schedule.
const (
	// Waves opens one wave after the other; the default.
	Waves Schedule = iota
	// EachNode starts each resource as soon as its own dependencies are met;
	// waves are only labels then. Resources that do not depend on a failed
	// one are still applied.
	EachNode
)

// ParseSchedule parses "waves" or "graph"; anything else is an error.
func ParseSchedule(s string) (Schedule, error) {
	switch s {
	case "waves":
		return Waves, nil
	case "graph":
		return EachNode, nil
	}
	return Waves, fmt.Errorf("%q is not a schedule: write waves or graph", s)
}

// String returns the schedule as flags accept it.
func (s Schedule) String() string {
	if s == EachNode {
		return "graph"
	}
	return "waves"
}
