package sortorder

// Pass says which half of a build that carries the order through kustomize a
// configuration is for.
type Pass string

// A build in two passes: kustomize puts what a function returns back at the old
// places, except resources it did not know. So the first pass packs everything
// into one carrier, and the second unpacks it in order.
const (
	NoPass Pass = ""
	Pack   Pass = "pack"
	Unpack Pass = "unpack"
)

// checkCarry refuses halves that do not fit together.
func (c config) checkCarry(problems *Problems) {
	switch Pass(c.Carry) {
	case NoPass, Pack:
		if c.Of != "" {
			problems.add("of", "goes with carry: unpack only")
		}
	case Unpack:
		if c.Of == "" {
			problems.add("of", "is missing: name the order that packed")
		}
		if c.says() {
			problems.add("carry", "is unpack, which takes the order as it was packed: leave out everything but metadata, carry and of")
		}
	default:
		problems.add("carry", "is %q: write pack or unpack, or better, use what sortorder carry prints", c.Carry)
	}
}

// says tells whether the configuration says anything about an order.
func (c config) says() bool {
	return c.SortOrder != nil || c.Layers != nil || c.Emit != nil || c.OutputOrder != "" || c.Strict || c.Reindex || c.Overwrite ||
		c.TypeOrder.Default != "" || c.TypeOrder.First != nil || c.TypeOrder.Last != nil
}
