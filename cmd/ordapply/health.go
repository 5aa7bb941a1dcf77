package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/status"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/operation/option"
)

func newHealth(c *console.Console) *cobra.Command {
	var in input.Source
	var rules option.Health
	var output string
	cmd := &cobra.Command{
		Use:   "health -f FILE",
		Short: "Report whether the objects in a file are ready, and which rule decides",
		Long: `health evaluates the status of objects in a file, without a cluster. For an
object that apply would wait for, it reports the reason.

  kubectl get certificates -A -o yaml | ordapply health
  ordapply health -f live.yaml --health-rules rules.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return usage.Errorf("-o %s: write text or json", output)
			}
			assessor, err := input.Assessor(cmd.Context(), c, rules)
			if err != nil {
				return err
			}
			if err := input.UseHealthRules(cmd.Context(), c, assessor, in.Order); err != nil {
				return err
			}
			return assessAll(cmd.Context(), c, &in, assessor, output)
		},
	}
	flags.Files(cmd.Flags(), &in.Manifests, "objects")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json, one object per line")
	cmd.Flags().StringVar(&in.Order, "order", "", "file with a SortOrder or stacks, for the health rules in it")
	flags.Health(cmd.Flags(), &rules)
	return cmd
}

// assessAll prints a verdict for every object. It returns errors for objects
// that cannot be read and for invalid annotations.
func assessAll(ctx context.Context, c *console.Console, in *input.Source, assessor *health.Assessor, output string) error {
	objects, err := in.ReadLive(ctx, c)
	errs := []error{err}
	assessor.ColumnsOf = columnsIn(objects)
	for _, obj := range objects {
		j := judge(assessor, obj)
		if err := j.print(c.Out, output); err != nil {
			return err
		}
		if err := assessor.Check(obj); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", j.ID, err))
		}
	}
	if len(objects) == 0 && err == nil {
		return errors.New("no objects to judge")
	}
	return errors.Join(errs...)
}

// columnsIn returns the printer columns of kinds whose CRDs are among the
// objects.
func columnsIn(objects []*unstructured.Unstructured) func(schema.GroupVersionKind) []health.Column {
	known := map[schema.GroupVersionKind][]health.Column{}
	for _, obj := range objects {
		if obj.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			maps.Copy(known, health.ColumnsOf(obj))
		}
	}
	return func(gvk schema.GroupVersionKind) []health.Column { return known[gvk] }
}

// assessmentJSON is a verdict for output.
type assessmentJSON struct {
	ID        string   `json:"id"`
	Verdict   string   `json:"verdict"`
	Health    string   `json:"health"`
	Reason    string   `json:"reason"`
	Rule      string   `json:"rule"`
	NoStatus  bool     `json:"noStatus,omitempty"`
	Assumed   bool     `json:"assumed,omitempty"`
	Held      bool     `json:"held,omitempty"`
	Endpoints []string `json:"needsEndpoints,omitempty"`

	word string // verdict and health combined
}

func judge(assessor *health.Assessor, obj *unstructured.Unstructured) assessmentJSON {
	a := assessor.Assess(obj)
	if a.Inconclusive { // no grace period for objects from a file
		a = assessor.AfterGrace(a)
	}
	j := assessmentJSON{
		ID: kube.Meta(obj).ID.String(), Verdict: a.Verdict.String(), Health: a.Grade().String(), Reason: a.Reason, Rule: a.Rule,
		word: status.Word(a.Verdict, a.Grade()), NoStatus: a.NoStatus, Assumed: a.Assumed, Held: a.SuspendedBySpec,
	}
	for _, backend := range a.Backends {
		j.Endpoints = append(j.Endpoints, backend.String())
	}
	return j
}

func (j assessmentJSON) print(out io.Writer, output string) error {
	if output == "json" {
		return status.WriteJSON(out, j)
	}
	_, err := plain.Fprintf(out, "%-11s  %s  %s (%s)\n", j.word, j.ID, j.Reason, j.Rule)
	for _, service := range j.Endpoints {
		_, err = plain.Fprintf(out, "%-11s  %s  needs a ready endpoint of %s\n", "", j.ID, service)
	}
	return err
}
