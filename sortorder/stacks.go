package sortorder

// The build and the applier share one file. Stacks, timeouts and health rules
// are for the run: ordapply --order uses them. The function only validates
// their form and reports that the applier needs them.

// healthRule is an entry of health.
type healthRule struct {
	Group      *string `json:"group" doc:"The API group; * matches any characters. Absent: any group."`
	Kind       string  `json:"kind" doc:"The kind; * matches any characters."`
	ReadyWhen  string  `json:"readyWhen" doc:"The resource is ready when this CEL condition over self holds."`
	FailedWhen string  `json:"failedWhen" doc:"The resource has failed when this CEL condition over self holds."`

	DegradedWhen  string `json:"degradedWhen" doc:"The resource has failed, and its health is Degraded, when this CEL condition over self holds."`
	UnknownWhen   string `json:"unknownWhen" doc:"The resource has failed, and its health is Unknown, when this CEL condition over self holds."`
	SuspendedWhen string `json:"suspendedWhen" doc:"The resource is not ready, and its health is Suspended, when this CEL condition over self holds."`
	MissingWhen   string `json:"missingWhen" doc:"The resource is not ready, and its health is Missing, when this CEL condition over self holds."`

	Source string `json:"source" doc:"Where that status is documented, as information for readers."`
}

// stackSpec is an entry of stacks.
type stackSpec struct {
	Name         string            `json:"name" doc:"The stack's name."`
	DependsOn    []string          `json:"dependsOn" doc:"The stacks that must be healthy first."`
	Timeout      string            `json:"timeout" doc:"How long the stack may take, such as 30m." values:"a duration such as 90s or 5m"`
	Atomic       bool              `json:"atomic" doc:"Roll back the changes of the run to the stack if any part of it does not become ready. Requires --applyset."`
	Health       []healthRule      `json:"health" doc:"When resources of the stack's applications are ready."`
	Applications []applicationSpec `json:"applications" doc:"The applications of the stack."`
}

// applicationSpec is an application of a stack: its name, its dependencies, and
// either the resources it selects, like an entry of sortOrder, or external ones
// that are not in the stream.
type applicationSpec struct {
	Name      string         `json:"name" doc:"The application's name."`
	DependsOn []string       `json:"dependsOn" doc:"The applications that must be healthy first: of this stack by name, of another as stack/application."`
	Timeout   string         `json:"timeout" doc:"How long the application may take, such as 5m." values:"a duration such as 90s or 5m"`
	Health    []healthRule   `json:"health" doc:"When resources of the application are ready."`
	Optional  bool           `json:"optional" doc:"The application may select nothing in the stream."`
	External  []externalSpec `json:"external" doc:"Instead of a selector: resources that are created outside the stream. Dependents of the application wait until they are ready."`
	conditionSpec
	ResourceName *string `json:"resourceName" doc:"The resource's name."`
}

// externalSpec identifies a resource in the cluster.
type externalSpec struct {
	APIVersion string `json:"apiVersion" doc:"The resource's apiVersion, such as apps/v1."`
	Kind       string `json:"kind" doc:"The resource's kind."`
	Namespace  string `json:"namespace" doc:"The resource's namespace; omit it for cluster-scoped kinds."`
	Name       string `json:"name" doc:"The resource's name."`
}

// forApplier returns the fields that only ordapply --order uses.
func (c config) forApplier() []string {
	var fields []string
	if c.Stacks != nil {
		fields = append(fields, "stacks")
	}
	if c.Timeouts != nil {
		fields = append(fields, "timeouts")
	}
	if c.Health != nil {
		fields = append(fields, "health")
	}
	return fields
}
