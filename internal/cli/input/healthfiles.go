package input

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/plain"
)

// HealthFlags configure the assessment of health.
type HealthFlags struct {
	rules  string
	argocd string
	folder string
	strict bool
}

// Register defines the flags.
func (f *HealthFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.rules, "health-rules", "", "file with HealthRules, which say in CEL when objects of a kind are ready")
	flags.StringVar(&f.argocd, "argocd-cm", "", "file with Argo CD's argocd-cm ConfigMap, for its health checks in Lua")
	flags.StringVar(&f.folder, "argocd-health", "", "checkout of Argo CD's folder resource_customizations, for the health checks that come with Argo CD")
	flags.BoolVar(&f.strict, "strict-readiness", false, "report unknown instead of assuming that a resource is ready")
}

// Assessor reads the files that the flags name.
func (f *HealthFlags) Assessor(ctx context.Context) (*health.Assessor, error) {
	assessor := &health.Assessor{Strict: f.strict}
	if f.rules != "" {
		data, err := abortable.ReadFile(ctx, f.rules, "--health-rules")
		if err != nil {
			return nil, fmt.Errorf("read the health rules: %w", err)
		}
		if assessor.Rules, err = health.ParseRules(data); err != nil {
			return nil, inFile(f.rules, err)
		}
	}
	if f.argocd != "" {
		data, err := abortable.ReadFile(ctx, f.argocd, "--argocd-cm")
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
		data, err := abortable.ReadFile(ctx, filepath.Join(dir, filepath.FromSlash(path)), "--argocd-health")
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

// Same returns the flags that produce the same waits.
func (f *HealthFlags) Same() []string {
	var flags []string
	if f.rules != "" {
		flags = append(flags, "--health-rules", plain.ShellQuote(f.rules))
	}
	if f.argocd != "" {
		flags = append(flags, "--argocd-cm", plain.ShellQuote(f.argocd))
	}
	if f.strict {
		flags = append(flags, "--strict-readiness")
	}
	return flags
}
