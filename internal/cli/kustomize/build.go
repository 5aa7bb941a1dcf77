package kustomize

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build is one build of a kustomization, with kustomize's defaults.
type Build struct {
	Folder  string
	Plugins bool // run functions, as --enable-alpha-plugins does
	Exec    bool // with Plugins, also functions that are programs, as --enable-exec does
	// Own runs this program, with FunctionArgument, instead of sortorder, for which Plugins and
	// Exec are not needed then.
	Own bool
}

// errMixed is returned where kustomize would skip functions silently.
var errMixed = errors.New("it has a SortOrder and functions of others: pass --enable-alpha-plugins and, for programs on this machine, --enable-exec")

// errRemote is returned for functions that could change while they are looked at.
var errRemote = errors.New("it has a SortOrder, and parts from elsewhere, which could run other functions: pass --enable-alpha-plugins and --enable-exec, or pass the SortOrder with --order")

// Run returns the output of `kustomize build`.
func (b Build) Run() ([]byte, error) {
	text, err := b.run()
	switch {
	case isRefusal(err):
		remedy := "enable functions with --enable-alpha-plugins, and functions that run programs on this machine also with --enable-exec"
		if b.Own {
			remedy += "; a SortOrder alone needs neither"
		}
		return nil, fmt.Errorf("build the kustomization: %w; %s", err, remedy)
	case err != nil:
		return nil, fmt.Errorf("build the kustomization: %w", err)
	}
	return text, nil
}

// isRefusal reports whether kustomize refused to run a function.
func isRefusal(err error) bool {
	return err != nil && strings.Contains(err.Error(), "external plugins disabled")
}

// run builds twice if there is a SortOrder: once without any function, which fails if there
// are functions of others, and then, from the same files, with this program as the function.
func (b Build) run() ([]byte, error) {
	if !b.Own {
		config := types.DisabledPluginConfig()
		if b.Plugins {
			config = enabled(b.Exec)
		}
		asWritten := newFiles("")
		asWritten.asWritten = true
		return build(b.Folder, asWritten, config)
	}
	program, err := self()
	if err != nil {
		return nil, err
	}
	if b.Plugins && b.Exec {
		return build(b.Folder, newFiles(program), enabled(true))
	}
	looking := newFiles("")
	built, err := build(b.Folder, looking, types.DisabledPluginConfig())
	switch {
	case !looking.found && b.Plugins:
		skipping := newFiles(program) // kustomize skips programs silently
		if built, err = build(b.Folder, skipping, enabled(false)); skipping.found {
			return nil, errMixed
		}
		return built, err
	case !looking.found:
		return built, err
	case b.Plugins && isRefusal(err):
		return nil, errMixed
	case err != nil:
		return nil, err
	case looking.remote:
		return nil, errRemote
	}
	running := newFiles(program)
	running.seen = looking.texts
	return build(b.Folder, running, enabled(true))
}

// self returns a path of this program. On Linux it stays this program when its file is deleted
// or replaced meanwhile, as by an upgrade.
func self() (string, error) {
	const linux = "/proc/self/exe"
	if _, err := os.Stat(linux); err == nil {
		return linux, nil
	}
	return os.Executable()
}

func enabled(exec bool) *types.PluginConfig {
	config := types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	config.FnpLoadingOptions.EnableExec = exec
	return config
}

func build(folder string, from filesys.FileSystem, plugins *types.PluginConfig) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = plugins
	resources, err := krusty.MakeKustomizer(options).Run(from, folder)
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}
