package graph

import "fmt"

// Gate is the state that a dependency must reach before its dependent is
// applied.
type Gate int

const (
	// Ready waits until the dependency is ready; for a CRD, until the API
	// server serves its kind.
	Ready Gate = iota
	// Applied waits until the API server has accepted the dependency.
	Applied
)

// String returns the gate as written in annotations and configuration.
func (g Gate) String() string {
	if g == Applied {
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
