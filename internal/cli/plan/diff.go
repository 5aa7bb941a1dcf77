package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
)

// ErrDifferent is returned by a diff that found differences.
var ErrDifferent = errors.New("there are differences")

// Diff prints the preview as a unified diff, or runs an external diff program on it. It returns
// ErrDifferent if there are differences.
func (p *Previewed) Diff(ctx context.Context, c *console.Console) error {
	p.Warn(c.Err)
	pairs, err := p.pairs()
	if err != nil {
		return err
	}
	p.printDetails(c.Err)
	different, err := p.show(ctx, c, pairs)
	if err := errors.Join(err, p.Preview.Err()); err != nil {
		return err
	}
	if different {
		return ErrDifferent
	}
	return nil
}

// diffPair is the YAML of one resource, live and after the apply; "" if it does not
// exist.
type diffPair struct {
	name         string // file name as in kubectl diff: "apps.v1.Deployment.shop.web"
	live, merged string
}

// pairs returns the resources that would change.
func (p *Previewed) pairs() ([]diffPair, error) {
	var out []diffPair
	for _, row := range p.Preview.Rows {
		one, err := pairOf(row)
		if err != nil {
			return nil, err
		}
		if one.live != one.merged {
			out = append(out, one)
		}
	}
	return out, nil
}

// pairOf returns a resource before and after; without texts if it would not change.
func pairOf(row preview.Row) (one diffPair, err error) {
	obj := row.Merged
	if obj == nil {
		obj = row.Live
	}
	if obj == nil || row.Action == preview.ActionError || row.Action == preview.ActionUnchanged {
		return one, nil
	}
	one.name = FileName(obj)
	if one.live, err = inYAML(row.Live); err != nil {
		return one, err
	}
	one.merged, err = inYAML(row.Merged)
	return one, err
}

// printDetails prints the details of rows and the notes of the plan.
func (p *Previewed) printDetails(w io.Writer) {
	for _, row := range p.Preview.Rows {
		if row.Detail != "" {
			plain.Fprintf(w, "%s: %s: %s\n", row.ID.String(), row.Action, row.Detail)
		}
	}
	for _, note := range p.Plan.Notes {
		plain.Fprintf(w, "note: %s\n", note)
	}
}

// FileName returns kubectl's file name for an object. It replaces separators,
// since the API server may not have validated the name yet.
func FileName(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	parts := []string{gvk.Version, gvk.Kind, obj.GetNamespace(), obj.GetName()}
	if gvk.Group != "" {
		parts = append([]string{gvk.Group}, parts...)
	}
	return strings.NewReplacer("/", "_", `\`, "_").Replace(strings.Join(parts, "."))
}

func inYAML(obj *unstructured.Unstructured) (string, error) {
	if obj == nil {
		return "", nil
	}
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		return "", fmt.Errorf("print %s: %w", kube.Meta(obj).ID, err)
	}
	return string(text), nil
}

// show prints the differences, or runs an external diff program, and reports
// whether there are any. An object may be adopted without any changed field.
func (p *Previewed) show(ctx context.Context, c *console.Console, pairs []diffPair) (different bool, err error) {
	if os.Getenv(externalDiffVariable) != "" {
		return runExternalDiff(ctx, c, pairs)
	}
	for _, one := range pairs {
		if err := plain.WriteLines(c.Out, one.write); err != nil {
			return false, err
		}
	}
	return p.Preview.Changes(), nil
}

// write prints a pair as `diff -u -N` does.
func (one diffPair) write(w io.Writer) error {
	if _, err := plain.Fprintf(w, "diff -u -N LIVE/%[1]s MERGED/%[1]s\n", one.name); err != nil {
		return err
	}
	return one.writeUnified(w)
}

// writeUnified prints a pair as a unified diff.
func (one diffPair) writeUnified(w io.Writer) error {
	return difflib.WriteUnifiedDiff(w, difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(one.live)), FromFile: "LIVE/" + one.name,
		B: slices.Collect(strings.Lines(one.merged)), ToFile: "MERGED/" + one.name,
		Context: 3,
	})
}
