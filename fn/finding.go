package fn

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Severity is the severity of a finding, as in the results of a KRM function.
type Severity string

// Values of Severity.
const (
	Error   Severity = "error"   // fails the run
	Warning Severity = "warning" // probably a mistake
	Info    Severity = "info"
)

// Finding is a message for the author.
type Finding struct {
	Severity Severity
	Message  string       // without the subject: "is stale: …"
	Object   *object.Meta // the resource or configuration it is about; nil for the stream
	Field    string       // the field it is about, or ""
	file     string       // for a configuration, its file, if kpt tells it; kustomize invents those of resources
}

// String returns one line: severity, subject and message.
func (f Finding) String() string {
	return string(f.Severity) + ": " + f.text()
}

// text returns the finding without its severity.
func (f Finding) text() string {
	var parts []string
	if f.Object != nil {
		who := f.Object.ID.String()
		if f.file != "" {
			who += " (" + f.file + ")"
		}
		parts = append(parts, who)
	}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	return plain.Line(strings.Join(append(parts, f.Message), ": "))
}

// Findings are the findings of a run, in the order found.
type Findings []Finding

// Failed reports whether one of the findings is an error.
func (fs Findings) Failed() bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == Error })
}

// Lines returns one line for each finding, errors first, since some tools show
// only the first few.
func (fs Findings) Lines() string {
	var b strings.Builder
	for _, severity := range []Severity{Error, Warning, Info} {
		for _, f := range fs {
			if f.Severity == severity {
				b.WriteString(f.String() + "\n")
			}
		}
	}
	return b.String()
}

// Err returns the errors among the findings, without the word "error"; nil if
// there are none.
func (fs Findings) Err() error {
	var errs []error
	for _, f := range fs {
		if f.Severity == Error {
			errs = append(errs, errors.New(f.text()))
		}
	}
	return errors.Join(errs...)
}

// Remarks returns the findings that are not errors.
func (fs Findings) Remarks() Findings {
	return slices.DeleteFunc(slices.Clone(fs), func(f Finding) bool { return f.Severity == Error })
}

// about names the SortOrder in the findings that are about no object, if it has a name: a
// build may have several.
func (fs Findings) about(config object.ID) {
	_, version := object.SplitAPIVersion(sortorder.APIVersion)
	for i := range fs {
		if fs[i].Object == nil && config.Name != "" {
			fs[i].Object = &object.Meta{ID: config, Version: version}
		}
	}
}

func (fs *Findings) add(f Finding) { *fs = append(*fs, f) }

// result converts the finding to a result of a KRM function, with the file of the object if
// the orchestrator told it.
func (f Finding) result() *sdk.Result {
	r := &sdk.Result{Message: f.Message, Severity: sdk.Severity(f.Severity)}
	if f.Object != nil {
		r.ResourceRef = &sdk.ResourceRef{
			APIVersion: f.Object.APIVersion(), Kind: f.Object.Kind, Name: f.Object.Name, Namespace: f.Object.Namespace,
		}
		if at := fileOf(*f.Object); at.path != "" {
			index, _ := strconv.Atoi(either(*f.Object, stamp.Index, stamp.LegacyIndex)) // 0 if it has none
			r.File = &sdk.File{Path: at.path, Index: index}
		}
	}
	if f.Field != "" {
		r.Field = &sdk.Field{Path: f.Field}
	}
	return r
}

// results converts the findings to results of a KRM function.
func (fs Findings) results() sdk.Results {
	out := make(sdk.Results, len(fs))
	for i, f := range fs {
		out[i] = f.result()
	}
	return out
}
