package sortorder

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/ordapply/ordapply/internal/text/strict"
)

// The build and the applier share one file. Stacks, timeouts and health rules
// are for the run: ordapply --order uses them. The function only validates
// their form and reports that the applier needs them.

// HealthRule is an entry of health.
type HealthRule struct {
	Group      *string `json:"group" doc:"The API group; * matches any characters. Absent: any group."`
	Kind       string  `json:"kind" doc:"The kind; * matches any characters."`
	ReadyWhen  string  `json:"readyWhen" doc:"CEL condition over self: the resource is ready."`
	FailedWhen string  `json:"failedWhen" doc:"CEL condition over self: the resource has failed."`

	DegradedWhen  string `json:"degradedWhen" doc:"CEL condition over self: it has failed, and its health is Degraded."`
	UnknownWhen   string `json:"unknownWhen" doc:"CEL condition over self: it has failed, and its health is Unknown."`
	SuspendedWhen string `json:"suspendedWhen" doc:"CEL condition over self: it is not ready, and its health is Suspended."`
	MissingWhen   string `json:"missingWhen" doc:"CEL condition over self: it is not ready, and its health is Missing."`

	Source string `json:"source" doc:"Where that status is documented."`
}

// Stack is an entry of stacks.
type Stack struct {
	Name         string        `json:"name" doc:"The stack's name."`
	DependsOn    []string      `json:"dependsOn" doc:"The stacks that must be healthy first."`
	Timeout      string        `json:"timeout" doc:"How long the stack may take, such as 30m." values:"a duration such as 90s or 5m"`
	Atomic       bool          `json:"atomic" doc:"Roll back the stack if any part of it does not become ready. Requires --applyset."`
	Health       []HealthRule  `json:"health" doc:"When resources of the stack's applications are ready."`
	Applications []Application `json:"applications" doc:"The applications of the stack."`
}

// Application is an application of a stack: its name, its dependencies, and
// either the resources it selects, like an entry of sortOrder, or external ones
// that are not in the stream.
type Application struct {
	Name      string       `json:"name" doc:"The application's name."`
	DependsOn []string     `json:"dependsOn" doc:"The applications that must be healthy first: of this stack by name, of another as stack/application, of a whole stack by its name."`
	Timeout   string       `json:"timeout" doc:"How long the application may take, such as 5m." values:"a duration such as 90s or 5m"`
	Health    []HealthRule `json:"health" doc:"When resources of the application are ready."`
	Optional  bool         `json:"optional" doc:"The application may select nothing in the stream."`
	External  []External   `json:"external" doc:"Instead of a selector: resources outside the stream, which dependents of the application wait for."`
	selecting
}

// IgnoreRule is an entry of ignoreFields.
type IgnoreRule struct {
	selecting
	Fields []string `json:"fields" doc:"Paths such as spec.replicas or spec.template.spec.containers[name=app].image."`
}

// External identifies a resource in the cluster.
type External struct {
	APIVersion string `json:"apiVersion" doc:"The resource's apiVersion, such as apps/v1."`
	Kind       string `json:"kind" doc:"The resource's kind."`
	Namespace  string `json:"namespace" doc:"The resource's namespace; omit it for cluster-scoped kinds."`
	Name       string `json:"name" doc:"The resource's name."`
}

// Applier has the fields of an order that only the applier uses, as they are written.
type Applier struct {
	applierFields
	Alone bool // the order has neither sortOrder nor layers nor typeOrder

	problems Problems // of decoding them
}

// ReadApplier reads these fields of a document in YAML or JSON, and nothing else of it. Its
// error is a Problems, all of which Parse reports too.
func ReadApplier(document []byte) (Applier, error) {
	tree, err := readDocument(document)
	if err != nil {
		return Applier{}, err
	}
	var a Applier
	own := map[string]any{}
	for _, field := range strict.FieldsOf(reflect.TypeFor[applierFields]()) {
		if value, has := tree[field.Tag.Get("json")]; has {
			own[field.Tag.Get("json")] = value
		}
	}
	a.problems = decode(own, &a.applierFields)
	a.Alone = len(own) > 0 && tree["sortOrder"] == nil && tree["layers"] == nil && tree["typeOrder"] == nil
	return a, a.problems.asError()
}

// selecting are the fields by which an application or a rule selects resources.
type selecting struct {
	conditionSpec
	ResourceName *string `json:"resourceName" doc:"The resource's name."`
}

// Conditions returns the names of the fields that are set, sorted.
func (s selecting) Conditions() []string { return slices.Sorted(slices.Values(present(s))) }

// Entry selects resources like an entry of sortOrder, elsewhere in a file.
type Entry struct {
	path string
	spec selectorSpec
}

// Entry returns the selection; path is the application's or rule's.
func (s selecting) Entry(path string) Entry {
	return Entry{path, selectorSpec{conditionSpec: s.conditionSpec, Name: s.ResourceName}}
}

// OrderOf returns an order of such entries: the Selector of a placement is the index of the
// first entry that matches the resource. Its error is a Problems, without ReadApplier's and
// their consequences.
func (a Applier) OrderOf(entries ...Entry) (*Order, error) {
	c := config{Metadata: metadata{Name: DefaultName}}
	var paths []string
	for i, entry := range entries {
		entry.spec.Layer = fmt.Sprint("entry-", i)
		c.SortOrder, paths = append(c.SortOrder, entry.spec), append(paths, entry.path)
	}
	order, problems := compile(c, paths, slices.Clone(a.problems))
	return order, problems[min(len(a.problems), len(problems)):].asError()
}
