// Sdknoop is a no-op KRM function built on the KRM functions SDK, the baseline
// for our function.
package main

import (
	"os"

	"github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"
)

func main() {
	nothing := fn.ResourceListProcessorFunc(func(*fn.ResourceList) (bool, error) { return true, nil })
	if err := fn.AsMain(nothing); err != nil {
		os.Exit(1)
	}
}
