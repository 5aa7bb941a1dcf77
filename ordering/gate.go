package ordering

import "fmt"

// Gate is what one resource waits for of another before it may be applied.
type Gate int

const (
	// Ready waits until the other is ready; for a CustomResourceDefinition,
	// until the API server serves its kind.
	Ready Gate = iota
	// Applied waits until the API server has accepted the other.
	Applied
)

// String is the gate as annotations and configs spell it.
func (g Gate) String() string {
	if g == Applied {
		return "applied"
	}
	return "ready"
}

// ParseGate reads "ready" or "applied".
func ParseGate(s string) (Gate, error) {
	switch s {
	case "ready":
		return Ready, nil
	case "applied":
		return Applied, nil
	}
	return Ready, fmt.Errorf("%q is no gate: write ready or applied", s)
}
