package source

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/abortable"
)

// kustomizationFlags configure the build of -k, with kustomize's names and
// defaults: functions, such as a SortOrder transformer, run only if the flags
// allow it.
type kustomizationFlags struct {
	Kustomize string
	plugins   bool
	exec      bool
}

func (f *kustomizationFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Kustomize, "kustomize", "k", "", "folder with a kustomization to build, instead of -f")
	flags.BoolVar(&f.plugins, "enable-alpha-plugins", false, "with -k, let the kustomization run functions")
	flags.BoolVar(&f.exec, "enable-exec", false, "with -k and --enable-alpha-plugins, let functions run programs on this machine")
}

// isKustomization reports whether a file is a kustomization by its name and
// content. A resource of another tool's kind Kustomization is not.
func isKustomization(ctx context.Context, path string) bool {
	if !slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path)) {
		return false
	}
	text, err := abortable.ReadFile(ctx, path, "-f")
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	return err == nil && yaml.Unmarshal(text, &head) == nil && (head.APIVersion == "" || strings.HasPrefix(head.APIVersion, "kustomize.config.k8s.io/"))
}

// build returns the output of `kustomize build`.
func (f *kustomizationFlags) build() ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	if f.plugins {
		options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
		options.PluginConfig.FnpLoadingOptions.EnableExec = f.exec
	}
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), f.Kustomize)
	switch {
	case err != nil && strings.Contains(err.Error(), "external plugins disabled"):
		return nil, fmt.Errorf("build the kustomization: %w; enable functions with --enable-alpha-plugins, and functions that run programs on this machine also with --enable-exec; "+
			"a SortOrder alone needs neither: pass it with --order", err)
	case err != nil:
		return nil, fmt.Errorf("build the kustomization: %w", err)
	}
	return resources.AsYaml()
}
