package ordering

// Annotations of resources that planning reads.
const (
	// DependsOnAnnotation lists the resources that must be ready before the one that has
	// it, separated by commas: group/Kind/name or group/namespaces/NAMESPACE/Kind/name,
	// with an empty group for the core group (the syntax of cli-utils). An entry may have
	// the prefix "external:", for a resource that is not in the stream, and the suffix
	// "?gate=applied".
	DependsOnAnnotation = "ordapply.dev/depends-on"
	// ProvidesAnnotation lists the kinds that a resource makes available in the
	// cluster once it is ready, as comma-separated group/Kind. Resources of these
	// kinds wait for it, as they do for a CRD.
	ProvidesAnnotation = "ordapply.dev/provides"
	// WaitAnnotation overrides the gate before later resources: "none" or "applied"
	// until the resource is applied, "ready" until it is ready. It takes precedence
	// over the layer's gate and --wait.
	WaitAnnotation = "ordapply.dev/wait"
)

// OrderingAnnotation and PrerequisitesAnnotation, set to "true" or "false" on
// any resource, apply to the whole stream like --ordering and --prerequisites
// (the annotation of an Application in KubeVela's KEP-0005). planner.Build
// ignores them; flags of a command take precedence.
const (
	OrderingAnnotation      = "ordapply.dev/ordering"
	PrerequisitesAnnotation = "ordapply.dev/prerequisites"
)
