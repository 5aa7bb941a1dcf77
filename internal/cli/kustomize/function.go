package kustomize

import (
	"fmt"
	"io"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/runtime/runtimeutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

const functionAnnotation = "config.kubernetes.io/function"

// FunctionArgument is the only argument with which kustomize runs this program as a function.
const FunctionArgument = "run-as-function"

// isOwn reports whether a transformer is a SortOrder that runs sortorder, as a program or as
// an image from any registry.
func isOwn(body *yaml.Node) bool {
	meta, err := tree.MetaOf(body)
	group, _ := object.SplitAPIVersion(sortorder.APIVersion)
	if err != nil || meta.Group != group || meta.Kind != sortorder.Kind || meta.Name == "" {
		return false
	}
	spec, err := runtimeutil.GetFunctionSpec(yaml.NewRNode(body))
	if err != nil || spec == nil {
		return false
	}
	program := strings.TrimSuffix(path.Base(strings.ReplaceAll(spec.Exec.Path, `\`, "/")), ".exe")
	image, _, _ := strings.Cut(spec.Container.Image, "@")
	repository, _, _ := strings.Cut(path.Base(image), ":")
	return program == "sortorder" || repository == "sortorder" && path.Base(path.Dir(image)) == "ordapply"
}

// Function is the function: it reads a ResourceList from stdin and returns the exit code. It
// prints the findings to stderr, the only output of a function that kustomize shows.
func Function(stdin io.Reader, stdout, stderr io.Writer) int {
	in, err := io.ReadAll(stdin)
	if err != nil {
		plain.Fprintf(stderr, "read the resources: %v\n", err)
		return 1
	}
	out := fn.Processor{}.Run(in)
	fmt.Fprint(stderr, out.Findings.Lines())
	if _, err := out.WriteTo(stdout); err != nil {
		plain.Fprintf(stderr, "write the resources: %v\n", err)
		return 1
	}
	if out.Findings.Failed() {
		return 1
	}
	return 0
}
