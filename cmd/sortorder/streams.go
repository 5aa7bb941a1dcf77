package main

import (
	"fmt"
	"io"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/plain"
)

// write prints the findings and, only if it is complete, the stream: kustomize
// and kpt would take empty output as a request to delete everything.
func write(out fn.Output, stdout, stderr io.Writer) int {
	fmt.Fprint(stderr, out.Findings.Lines())
	_, err := out.WriteTo(stdout)
	if code := exitCode(err, stderr); code != 0 || !out.Findings.Failed() {
		return code
	}
	return 1
}

// printText prints output that is not a stream.
func printText(text []byte, stdout, stderr io.Writer) int {
	_, err := stdout.Write(text)
	return exitCode(err, stderr)
}

func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	plain.Fprintf(stderr, "sortorder: write stdout: %v\n", err)
	return 1
}
