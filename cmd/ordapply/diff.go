package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
)

func newDiff() *cobra.Command {
	var f previewFlags
	cmd := &cobra.Command{
		Use:   "diff -f FILE",
		Short: "Show what apply would change, as a unified diff",
		Long: `diff compares what is in the cluster with what apply would make of it, as the API
server rehearses it. Nothing is written. Values of Secrets are masked.

It exits with 0 when nothing would change, 1 when something would, and more than
1 when something is wrong. KUBECTL_EXTERNAL_DIFF names another program to compare
with, as for kubectl.`,
		Example: `  kustomize build . | ordapply diff -f -
  KUBECTL_EXTERNAL_DIFF="colordiff -N -u" ordapply diff -f app.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.diff(cmd) },
	}
	f.register(cmd)
	return cmd
}

// errDifferent ends a diff that found something.
var errDifferent = errors.New("there are differences")

func (f *previewFlags) diff(cmd *cobra.Command) error {
	p, err := f.preview(cmd)
	if err != nil {
		return err
	}
	p.warn(cmd.ErrOrStderr())
	pairs, err := p.pairs()
	if err != nil {
		return err
	}
	p.tellDetails(cmd.ErrOrStderr())
	different, err := p.show(cmd, pairs)
	if err := errors.Join(err, p.preview.Err()); err != nil {
		return err
	}
	if different {
		return errDifferent
	}
	return nil
}

// pair is one resource as it is and as it would be, in YAML; "" where there is
// none.
type pair struct {
	name         string // of a file: "apps.v1.Deployment.shop.web", as kubectl's
	live, merged string
}

// pairs are the resources that would change.
func (p *previewed) pairs() ([]pair, error) {
	var out []pair
	for _, row := range p.preview.Rows {
		obj := row.Merged
		if obj == nil {
			obj = row.Live
		}
		if obj == nil || row.Action == apply.WillFail || row.Action == apply.WillStay {
			continue
		}
		one := pair{name: fileName(obj)}
		var err error
		if one.live, err = inYAML(row.Live); err != nil {
			return nil, err
		}
		if one.merged, err = inYAML(row.Merged); err != nil {
			return nil, err
		}
		if one.live != one.merged {
			out = append(out, one)
		}
	}
	return out, nil
}

// tellDetails says what there is to know of a difference beside its fields, and
// of the plan.
func (p *previewed) tellDetails(w io.Writer) {
	for _, row := range p.preview.Rows {
		if row.Detail != "" {
			plain.Fprintf(w, "%s: %s: %s\n", row.ID.String(), row.Action, row.Detail)
		}
	}
	p.plan.WriteHooks(w)
	for _, note := range p.plan.Notes {
		plain.Fprintf(w, "note: %s\n", note)
	}
}

// fileName is kubectl's name for the file of an object. A name that no API
// server has seen yet may hold what would lead out of the folder.
func fileName(obj *unstructured.Unstructured) string {
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
		return "", fmt.Errorf("print %s: %w", apply.Meta(obj).ID, err)
	}
	return string(text), nil
}

// show prints how the pairs differ, by our own means or another program's, and
// tells whether there is a difference. There may be one that is none of fields:
// an object that is adopted as it is.
func (p *previewed) show(cmd *cobra.Command, pairs []pair) (different bool, err error) {
	if os.Getenv(externalDiffVariable) != "" {
		return runExternalDiff(cmd, pairs)
	}
	for _, one := range pairs {
		if err := printEscaped(cmd.OutOrStdout(), one.write); err != nil {
			return false, err
		}
	}
	return p.preview.Changes(), nil
}

// write prints a pair as `diff -u -N` does.
func (one pair) write(w io.Writer) error {
	if _, err := plain.Fprintf(w, "diff -u -N LIVE/%[1]s MERGED/%[1]s\n", one.name); err != nil {
		return err
	}
	return difflib.WriteUnifiedDiff(w, difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(one.live)), FromFile: "LIVE/" + one.name,
		B: slices.Collect(strings.Lines(one.merged)), ToFile: "MERGED/" + one.name,
		Context: 3,
	})
}
