package ordering

import "fmt"

// Gate is the state that a dependency must reach before its dependent is
// applied.
type Gate int

// Values of Gate. The zero value is Ready.
const (
	// Ready waits until the dependency is ready; for a CRD, until the API
	// server serves its kind.
	Ready Gate = iota
	// Started waits until the Pods of the dependency exist, ready or not. Only inferred
	// edges have it.
	Started
	// Applied waits until the API server has accepted the dependency.
	Applied
)

// String returns the gate as written in annotations, configuration and plans.
func (g Gate) String() string {
	switch g {
	case Started:
		return "started"
	case Applied:
		return "applied"
	}
	return "ready"
}

// ParseGate parses "ready" or "applied"; anything else, also "", is an error.
func ParseGate(s string) (Gate, error) {
	switch s {
	case "ready":
		return Ready, nil
	case "applied":
		return Applied, nil
	}
	return Ready, fmt.Errorf("%q is not a gate: write ready or applied", s)
}
