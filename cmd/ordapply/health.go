package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/manifest"
	"github.com/ordapply/ordapply/internal/plain"
)

// healthFlags configure how health is assessed.
type healthFlags struct {
	rules  string
	argocd string
	folder string
	strict bool
}

func (f *healthFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.rules, "health-rules", "", "file with HealthRules, which say in CEL when objects of a kind are ready")
	flags.StringVar(&f.argocd, "argocd-cm", "", "file with Argo CD's argocd-cm ConfigMap, for its health checks in Lua")
	flags.StringVar(&f.folder, "argocd-health", "", "checkout of Argo CD's folder resource_customizations, for the health checks that come with Argo CD")
	flags.BoolVar(&f.strict, "strict-readiness", false, "report unknown instead of assuming that a resource is ready")
}

// assessor reads the files that the flags name.
func (f *healthFlags) assessor(ctx context.Context) (*health.Assessor, error) {
	assessor := &health.Assessor{Strict: f.strict}
	if f.rules != "" {
		data, err := readFile(ctx, f.rules, "--health-rules")
		if err != nil {
			return nil, fmt.Errorf("read the health rules: %w", err)
		}
		if assessor.Rules, err = health.ParseRules(data); err != nil {
			return nil, inFile(f.rules, err)
		}
	}
	if f.argocd != "" {
		data, err := readFile(ctx, f.argocd, "--argocd-cm")
		if err != nil {
			return nil, fmt.Errorf("read --argocd-cm: %w", err)
		}
		var cm struct {
			Kind string
			Data map[string]string
		}
		if err := yaml.Unmarshal(data, &cm); err != nil {
			return nil, fmt.Errorf("%s: %w", f.argocd, err)
		}
		if cm.Kind != "ConfigMap" {
			return nil, fmt.Errorf("%s: kind is %q: --argocd-cm takes a file with the ConfigMap argocd-cm and no other object", f.argocd, cm.Kind)
		}
		if assessor.ArgoCD, err = health.ParseArgoCD(cm.Data); err != nil {
			return nil, inFile(f.argocd, err)
		}
	}
	if f.folder != "" {
		var err error
		if assessor.ArgoCDFolder, err = readArgoCDFolder(ctx, f.folder); err != nil {
			return nil, err
		}
	}
	return assessor, nil
}

// readArgoCDFolder reads the health checks from a checkout of Argo CD: from its
// folder resource_customizations, or its parent.
func readArgoCDFolder(ctx context.Context, dir string) (*health.Customizations, error) {
	if inner := filepath.Join(dir, "resource_customizations"); isFolder(inner) {
		dir = inner
	}
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "health.lua" {
			return err
		}
		data, err := readFile(ctx, filepath.Join(dir, filepath.FromSlash(path)), "--argocd-health")
		files[path] = string(data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read --argocd-health: %w", err)
	}
	checks, err := health.ParseArgoCDFiles(files)
	switch {
	case err != nil:
		return nil, inFile(dir, err)
	case checks.Len() == 0:
		return nil, fmt.Errorf("--argocd-health: no GROUP/KIND/health.lua found in %s: name a checkout of Argo CD's folder resource_customizations", dir)
	}
	return checks, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// inFile prefixes each line of an error with the file name.
func inFile(name string, err error) error {
	var located []error
	for fault := range strings.Lines(err.Error()) {
		located = append(located, fmt.Errorf("%s: %s", name, strings.TrimSuffix(fault, "\n")))
	}
	return errors.Join(located...)
}

func newHealth() *cobra.Command {
	var in inputFlags
	var rules healthFlags
	var output string
	cmd := &cobra.Command{
		Use:   "health -f FILE",
		Short: "Report whether the objects in a file are ready, and which rule decides",
		Long: `health judges objects by their status in a file, and needs no cluster. Where apply
would wait, it reports what for.

  kubectl get certificates -A -o yaml | ordapply health
  ordapply health -f live.yaml --health-rules rules.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return usagef("-o %s: write text or json", output)
			}
			assessor, err := rules.assessor(cmd.Context())
			if err != nil {
				return err
			}
			if err := withOrder(cmd.Context(), assessor, in.order); err != nil {
				return err
			}
			return assessAll(cmd, &in, assessor, output)
		},
	}
	cmd.Flags().StringSliceVarP(&in.files, "filename", "f", nil, "file, folder, pattern such as '*.yaml', or URL with objects; - for standard input")
	cmd.Flags().BoolVarP(&in.recursive, "recursive", "R", false, "read subfolders too")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json, one object per line")
	cmd.Flags().StringVar(&in.order, "order", "", "file with a SortOrder or stacks, for the health rules in it")
	rules.register(cmd.Flags())
	return cmd
}

// assessAll prints a verdict for every object. It returns errors for objects
// that cannot be read and for invalid annotations.
func assessAll(cmd *cobra.Command, in *inputFlags, assessor *health.Assessor, output string) error {
	objects, err := in.readLive(cmd)
	errs := []error{err}
	assessor.ColumnsOf = columnsIn(objects)
	for _, obj := range objects {
		j := judge(assessor, obj)
		if err := j.print(cmd.OutOrStdout(), output); err != nil {
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

// readLive returns the objects of all files unchanged. Unlike manifests to
// apply, they may have no name.
func (f *inputFlags) readLive(cmd *cobra.Command) ([]*unstructured.Unstructured, error) {
	files, err := f.sources(cmd)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	var errs []error
	for _, file := range files {
		read, err := readInput(cmd, f, file, manifest.ReadLive)
		for _, m := range read {
			objects = append(objects, m.Unstructured)
		}
		errs = append(errs, err)
	}
	return objects, errors.Join(errs...)
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
		ID: apply.Meta(obj).ID.String(), Verdict: a.Verdict.String(), Health: a.Grade().String(), Reason: a.Reason, Rule: a.Rule,
		word: statusWord(a.Verdict, a.Grade()), NoStatus: a.NoStatus, Assumed: a.Assumed, Held: a.SuspendedBySpec,
	}
	for _, backend := range a.Backends {
		j.Endpoints = append(j.Endpoints, backend.String())
	}
	return j
}

func (j assessmentJSON) print(out io.Writer, output string) error {
	if output == "json" {
		return writeJSON(out, j)
	}
	_, err := plain.Fprintf(out, "%-11s  %s  %s (%s)\n", j.word, j.ID, j.Reason, j.Rule)
	for _, service := range j.Endpoints {
		_, err = plain.Fprintf(out, "%-11s  %s  needs a ready endpoint of %s\n", "", j.ID, service)
	}
	return err
}
