//go:build never

// Package flux pins the build of Flux: two of its controllers, and a registry for their
// source.
package flux

import (
	_ "github.com/fluxcd/kustomize-controller"
	_ "github.com/fluxcd/source-controller"
	_ "github.com/google/go-containerregistry/cmd/registry"
)
