// Kyamlnoop is a no-op KRM function built on kyaml's framework, the baseline
// for our function.
package main

import (
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

func main() {
	nothing := framework.ResourceListProcessorFunc(func(*framework.ResourceList) error { return nil })
	stream := &kio.ByteReadWriter{Reader: os.Stdin, Writer: os.Stdout, KeepReaderAnnotations: true}
	if err := framework.Execute(nothing, stream); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
