package sortorder

// Pass is a pass of a build that carries the order through kustomize, which puts
// the resources that a function returns back into their old positions, except
// new ones. So one pass packs all into one carrier, and another unpacks it.
type Pass string

// Values of Pass.
const (
	NoPass Pass = ""       // sort and stamp in one pass
	Pack   Pass = "pack"   // the first: sort, stamp and put all resources into one
	Unpack Pass = "unpack" // the second: take them out again, in order
)

// checkCarry validates the combination of carry, of and other fields.
func (c config) checkCarry(problems *Problems) {
	switch Pass(c.Carry) {
	case NoPass, Pack:
		if c.Of != "" {
			problems.add("of", "is valid only with carry: unpack")
		}
	case Unpack:
		if c.Of == "" {
			problems.add("of", "is missing: write the name of the order that was packed")
		}
		if c.definesOrder() {
			problems.add("carry", "is unpack, which keeps the packed order: remove all fields except apiVersion, kind, metadata, carry and of")
		}
	default:
		problems.add("carry", "is %q: write pack or unpack, or better, use the output of sortorder carry", c.Carry)
	}
}

// definesOrder reports whether the configuration has fields that define an order.
func (c config) definesOrder() bool {
	return c.SortOrder != nil || c.Layers != nil || c.Emit != nil || c.OutputOrder != "" || c.Strict || c.Reindex || c.Overwrite ||
		c.TypeOrder.Default != "" || c.TypeOrder.First != nil || c.TypeOrder.Last != nil
}
