package input

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/kustomize"
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

// build returns the output of `kustomize build`.
func (s *Source) build(c *console.Console) ([]byte, error) {
	return kustomize.Build{Folder: s.Kustomize, Own: c.Function, Plugins: s.Plugins, Exec: s.Exec}.Run()
}
