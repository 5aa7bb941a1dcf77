// Sdknoop is a KRM function that does nothing, built on the KRM functions SDK:
// what our own function is measured against.
package main

import (
	"os"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

func main() {
	nothing := fn.ResourceListProcessorFunc(func(*fn.ResourceList) (bool, error) { return true, nil })
	if err := fn.AsMain(nothing); err != nil {
		os.Exit(1)
	}
}
