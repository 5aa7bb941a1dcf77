package input

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// isKustomization reports whether a file is a kustomization by its name and
// content. A resource of another tool's kind Kustomization is not.
func isKustomization(ctx context.Context, c *console.Console, path string) bool {
	if !slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path)) {
		return false
	}
	text, err := c.ReadFile(ctx, path, "-f")
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	return err == nil && tree.Unmarshal(text, &head) == nil && (head.APIVersion == "" || strings.HasPrefix(head.APIVersion, "kustomize.config.k8s.io/"))
}

// boundedFiles are the files of a kustomization, which kustomize expands without limits.
type boundedFiles struct {
	filesys.FileSystem
	repeated map[string]int // bytes that aliases repeat, by file
	total    int            // of repeated
}

// ReadFile implements filesys.FileSystem. It refuses files whose aliases repeat too much.
func (f *boundedFiles) ReadFile(name string) ([]byte, error) {
	text, err := f.FileSystem.ReadFile(name)
	if err != nil {
		return nil, err
	}
	repeated, err := tree.CheckStream(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.total += repeated - f.repeated[name]
	f.repeated[name] = repeated
	if f.total > limits.StreamAliases {
		return nil, fmt.Errorf("%s: the aliases of this file, and of those before it, expand to more than %d MiB: replace aliases with their values", name, limits.StreamAliases>>20)
	}
	return text, nil
}

// build returns the output of `kustomize build`, with kustomize's defaults: functions, such as a
// SortOrder transformer, run only if the options allow it.
func (s *Source) build() ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	if s.Plugins {
		options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
		options.PluginConfig.FnpLoadingOptions.EnableExec = s.Exec
	}
	resources, err := krusty.MakeKustomizer(options).Run(&boundedFiles{FileSystem: filesys.MakeFsOnDisk(), repeated: map[string]int{}}, s.Kustomize)
	switch {
	case err != nil && strings.Contains(err.Error(), "external plugins disabled"):
		return nil, fmt.Errorf("build the kustomization: %w; enable functions with --enable-alpha-plugins, and functions that run programs on this machine also with --enable-exec; "+
			"a SortOrder alone needs neither: pass it with --order", err)
	case err != nil:
		return nil, fmt.Errorf("build the kustomization: %w", err)
	}
	return resources.AsYaml()
}
