package input

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/operation/option"
)

// Assessor reads the files that the options name.
func Assessor(ctx context.Context, c *console.Console, o option.Health) (*health.Assessor, error) {
	assessor := &health.Assessor{Strict: o.Strict}
	if o.Rules != "" {
		data, err := c.ReadFile(ctx, o.Rules, "--health-rules")
		if err != nil {
			return nil, fmt.Errorf("read the health rules: %w", err)
		}
		if assessor.Rules, err = health.ParseRules(data); err != nil {
			return nil, inFile(o.Rules, err)
		}
	}
	if o.ArgoCD != "" {
		data, err := c.ReadFile(ctx, o.ArgoCD, "--argocd-cm")
		if err != nil {
			return nil, fmt.Errorf("read --argocd-cm: %w", err)
		}
		var cm struct {
			Kind string
			Data map[string]string
		}
		if err := yaml.Unmarshal(data, &cm); err != nil {
			return nil, fmt.Errorf("%s: %w", o.ArgoCD, err)
		}
		if cm.Kind != "ConfigMap" {
			return nil, fmt.Errorf("%s: kind is %q: --argocd-cm takes a file with the ConfigMap argocd-cm and no other object", o.ArgoCD, cm.Kind)
		}
		if assessor.ArgoCD, err = health.ParseArgoCD(cm.Data); err != nil {
			return nil, inFile(o.ArgoCD, err)
		}
	}
	if o.ArgoCDFolder != "" {
		var err error
		if assessor.ArgoCDFolder, err = readArgoCDFolder(ctx, c, o.ArgoCDFolder); err != nil {
			return nil, err
		}
	}
	return assessor, nil
}

// readArgoCDFolder reads the health checks from a checkout of Argo CD: from its
// folder resource_customizations, or its parent.
func readArgoCDFolder(ctx context.Context, c *console.Console, dir string) (*health.Customizations, error) {
	if inner := filepath.Join(dir, "resource_customizations"); isFolder(inner) {
		dir = inner
	}
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "health.lua" {
			return err
		}
		data, err := c.ReadFile(ctx, filepath.Join(dir, filepath.FromSlash(path)), "--argocd-health")
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

// SameHealth returns the flags that produce the same waits.
func SameHealth(o option.Health) []string {
	var flags []string
	if o.Rules != "" {
		flags = append(flags, "--health-rules", plain.ShellQuote(o.Rules))
	}
	if o.ArgoCD != "" {
		flags = append(flags, "--argocd-cm", plain.ShellQuote(o.ArgoCD))
	}
	if o.Strict {
		flags = append(flags, "--strict-readiness")
	}
	return flags
}
