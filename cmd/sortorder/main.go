// Command sortorder is the KRM function of the kustomize resource-ordering KEP, and
// a filter for plain streams. Package fn does the work.
//
//	kustomize build --enable-alpha-plugins --enable-exec .   # with the function under transformers
//	kustomize build . | sortorder --order order.yaml
//
// It prints everything or nothing, and exits with 0 when it is done, 1 when it
// refuses the input, and 2 when it is used wrongly.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/version"
	"github.com/ordapply/ordapply/sortorder"
)

const usage = `sortorder orders Kubernetes manifests by your selectors and writes the order in their annotations.

As a KRM function it reads a ResourceList from stdin, with a SortOrder as functionConfig.
As a filter it reads any YAML stream:

  kustomize build . | sortorder --order order.yaml

  --order FILE  the SortOrder
  --marks       add comments where a layer begins and ends
  --check       change nothing; exit 1 if stamps are missing or stale
  --explain     print to stderr where each resource is placed, and why

  sortorder carry FILE  print FILE as two passes, so that kustomize build prints resources in order
  sortorder strip       remove all stamps from the stream on stdin
  sortorder schema      print the JSON Schema of a SortOrder
  sortorder version     print the version, with -o json also commit and platform

Exit codes: 0 success, 1 failure, 2 usage error.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch verb {
	case "":
		if isTerminal(stdin) {
			fmt.Fprint(stderr, usage)
			return 2
		}
	case "strip":
		return strip(args[1:], stdin, stdout, stderr)
	case "carry":
		return carry(args[1:], stdout, stderr)
	case "schema":
		return printText(sortorder.Schema(), stdout, stderr)
	case "version", "--version":
		return printVersion(args[1:], stdout, stderr)
	case "help", "--help", "-h":
		return printText([]byte(usage), stdout, stderr)
	}
	return filter(args, stdin, stdout, stderr)
}

// isTerminal reports whether stdin is a terminal, so that reading it would wait
// for the user.
func isTerminal(stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printVersion prints the version as text, or with -o json as JSON.
func printVersion(args []string, stdout, stderr io.Writer) int {
	own := version.Own("sortorder")
	var text bytes.Buffer
	switch strings.Join(args, " ") {
	case "":
		plain.Fprintln(&text, own)
	case "-o json", "-o=json", "--output json", "--output=json":
		if err := own.JSON(&text); err != nil {
			return exitCode(err, stderr)
		}
	default:
		plain.Fprintf(stderr, "sortorder version: unexpected argument %q: only -o json is known\n", strings.Join(args, " "))
		return 2
	}
	return printText(text.Bytes(), stdout, stderr)
}
