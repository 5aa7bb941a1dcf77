package lint_test

import (
	"fmt"
	"os"

	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/ordering"
)

// Check reports misspelt names of kinds.
func ExampleCheck() {
	faults, _ := lint.CheckKinds(nil, ordering.Options{PrerequisiteKinds: []string{"storage.k8s.io/v1/StorageClass", "Storagecls"}}, nil)
	for _, fault := range faults {
		fmt.Fprintln(os.Stdout, fault)
	}
	// Output:
	// --prerequisite-kinds: storage.k8s.io/v1/StorageClass: a kind is written Kind or Kind.group: write StorageClass.storage.k8s.io
	// --prerequisite-kinds: Storagecls: unknown kind; did you mean StorageClass?
}
