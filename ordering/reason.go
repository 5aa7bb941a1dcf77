package ordering

// Rule names the origin of an edge or a place, such as "pod-template" or "layer". A
// kind of layer is the rule of the resources that it places.
type Rule string

// Rules that decide how an edge or a resource is treated further.
const (
	RuleNamespace     Rule = "namespace"           // a resource lives in a Namespace
	RulePolicy        Rule = "policy"              // a policy or quota limits the Pods of a workload
	RuleArgument      Rule = "argument"            // a program writes a resource, or its arguments or variables name it
	RulePrerequisite  Rule = "prerequisite"        // a CRD, a Namespace or a prerequisite kind goes first
	RulePrerequisites Rule = "prerequisites"       // all other resources come after these
	RuleReferences    Rule = "references"          // nothing orders the resource
	RuleNeeded        Rule = "needed"              // a resource joins the wave of its first dependent
	RuleExcluded      Rule = "left-out"            // a selection leaves the resource of the stream out
	RuleExternal      Rule = "external"            // an application lists the resource as external
	RuleMutation      Rule = "apply-time-mutation" // a resource takes values of another
)

// Reason explains an edge or a place: the rule that applied, and the part of
// the manifests that triggered it. It is for people; nothing depends on Detail.
type Reason struct {
	Rule   Rule   // for example "pod-template", "layer", "prerequisite"; "" if Detail says all
	Detail string // for example `env DB_PASSWORD`, `layer data after foundation`
	Where  string // position of that manifest, as Resource.Source; "" if there are several
}

// Says reports whether the reason tells more about the place of a resource than its wave does.
func (r Reason) Says() bool { return r.Rule != RulePrerequisites && r.Rule != RuleReferences }

// String returns the reason without its position: "pod-template: env DB_PASSWORD", or "before
// Deployment web, which uses it (volume config)".
func (r Reason) String() string {
	switch {
	case r.Detail == "":
		return string(r.Rule)
	case r.Rule == "" || r.Rule == RuleNeeded:
		return r.Detail
	}
	return string(r.Rule) + ": " + r.Detail
}

// Located returns the reason with its position, if that is known.
func (r Reason) Located() string {
	if r.Where == "" {
		return r.String()
	}
	return r.String() + "; " + r.Where
}
