package edges

import "fmt"

// OrderSource selects where the order of a stream comes from.
type OrderSource string

// Values of OrderSource. What places no resource leaves only the edges and the prerequisites.
const (
	OrderSourceAuto   OrderSource = ""       // stamps if any resource has them, else the only frame whose annotations are in the stream
	OrderSourceStamps OrderSource = "stamps" // a SortOrder's annotations
	OrderSourceArgoCD OrderSource = "argocd" // Argo CD's phases and waves
	OrderSourceHelm   OrderSource = "helm"   // groups of Helm's HIP-0025, and the order of charts
	OrderSourceNone   OrderSource = "none"   // no layers
)

// ParseOrderSource parses the value of --frame: "argocd", "helm", "none", or ""
// for OrderSourceAuto. Stamps need no flag: "stamps" is an error, too.
func ParseOrderSource(s string) (OrderSource, error) {
	switch f := OrderSource(s); f {
	case OrderSourceAuto, OrderSourceArgoCD, OrderSourceHelm, OrderSourceNone:
		return f, nil
	}
	return OrderSourceAuto, fmt.Errorf("%q is not a frame: write argocd, helm or none", s)
}

// rulesOut explains why the other frames are not used.
func rulesOut(f OrderSource) string {
	switch f {
	case OrderSourceStamps:
		return "a SortOrder's stamps take precedence"
	case OrderSourceNone:
		return "no frame is used"
	}
	return "--frame=" + string(f) + " is set"
}
