package invalid

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/progress"
)

// Explain adds a remedy to an error of the API server, using what is known about the
// Namespaces that the stream contains in addition to the answer.
func Explain(err error, hasNamespace func(name string) bool) error {
	if kubeerr.IsNamespaceTerminating(err) {
		if name := kubeerr.TerminatingNamespace(err); hasNamespace(name) {
			return progress.WithCode(progress.CodeTerminating, fmt.Errorf("another client deleted namespace %q with everything in it during this run: run this again, which waits until it is gone", name))
		}
	}
	return kubeerr.Explain(err)
}

// CRDTerminating returns the error about a CustomResourceDefinition that is being
// deleted.
func CRDTerminating(live *unstructured.Unstructured) error {
	return progress.WithCode(progress.CodeTerminating, fmt.Errorf("the CustomResourceDefinition is being deleted%s, and all its custom resources with it: wait until it is gone, then run this again", kube.DeletionBlockers(live)))
}
