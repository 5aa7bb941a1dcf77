package request

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// Policy returns the policy of a manifest, and why: see applyset.PolicyOf.
func (r Reader) Policy(i int, live *unstructured.Unstructured) (applyset.Policy, string) {
	return applyset.PolicyOf(r.Manifests[i], live)
}

// LeftBecause returns why an object that exists is left as it is, despite its manifest; "" when
// it is applied.
func (r Reader) LeftBecause(i int, live *unstructured.Unstructured) string {
	policy, why := r.Policy(i, live)
	if live == nil || policy == applyset.Apply {
		return ""
	}
	return "left as it is: " + why
}

// UnreadError returns an error when an object that could not be read may not be written;
// nil when it may.
func (r Reader) UnreadError(i int, err error) error {
	if policy, why := r.Policy(i, nil); err != nil && policy == applyset.CreateOnly {
		return fmt.Errorf("it cannot be read, so it may exist, and %s leaves an existing object as it is: %w; grant get or list on it to the account in your kubeconfig", why, err)
	}
	return r.Owner.UnreadMembershipError(err)
}
