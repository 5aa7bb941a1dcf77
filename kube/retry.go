package kube

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

// maxAttempts bounds the attempts of a request whose failure may be transient.
const maxAttempts = 5

// WithRetry retries a request that failed on its way to the API server or
// because the server was busy. Other transient failures, such as a webhook
// that does not answer yet, are returned at once. It makes at most five attempts,
// with pauses of up to 5s or as long as the server asks for, and returns the last
// error, or that of ctx. what names the request in reports of retries, such as
// "read Deployment web".
func WithRetry[T any](ctx context.Context, what string, request func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		answer, err := request()
		if err == nil || n == maxAttempts || !mayRetry(err) {
			return answer, err
		}
		pause := max(fault.Backoff(n), fault.RetryAfter(err))
		ReportRetry(ctx, Retry{Of: what, Attempt: n, Pause: pause, Cause: fault.TimeoutInWords(err)})
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// mayRetry reports whether a request failed on its way or because the
// server was busy, as opposed to being answered.
func mayRetry(err error) bool {
	return fault.RetryBudget(err) > 0 && !fault.IsWebhookUnreachable(err) && fault.MissingServiceAccount(err) == "" && !fault.IsNotServed(err)
}

// RetryingReads is a cluster whose Get and List are retried, as WithRetry does. A run
// of package apply does not need it: it sends the objects that it could not read.
type RetryingReads struct{ Cluster }

// Fenced implements Cluster.
func (p RetryingReads) Fenced(fence Fence) Cluster { return RetryingReads{p.Cluster.Fenced(fence)} }

// Get implements Cluster with retries.
func (p RetryingReads) Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return WithRetry(ctx, DescribeRequest("reading", kind, namespace, name), func() (*unstructured.Unstructured, error) { return p.Cluster.Get(ctx, kind, namespace, name) })
}

// List implements Cluster with retries.
func (p RetryingReads) List(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error) {
	return WithRetry(ctx, DescribeRequest("listing", kind, namespace, ""), func() ([]*unstructured.Unstructured, error) { return p.Cluster.List(ctx, kind, namespace, query) })
}

// Reads are the calls of a Cluster that read it.
type Reads interface {
	Discovery
	Unreadable(schema.GroupVersion) error
	AllUnreadable() []schema.GroupVersion
	Refresh(context.Context, ...schema.GroupVersion) error
	NamespacedKinds() []schema.GroupVersionKind
	StoredKinds() []schema.GroupVersionKind
	Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error)
	List(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error)
}

// ReadOnly is a cluster that cannot be changed: it is read, with retries, and every PATCH
// is a dry run.
type ReadOnly struct {
	Reads
	cluster Cluster
}

// NewReadOnly returns the part of a cluster that does not change it.
func NewReadOnly(cluster Cluster) ReadOnly {
	return ReadOnly{RetryingReads{cluster}, cluster}
}

// Apply sends a dry run of a PATCH, whatever its options say.
func (c ReadOnly) Apply(ctx context.Context, kind Kind, obj *unstructured.Unstructured, options PatchOptions) (*unstructured.Unstructured, error) {
	options.DryRun = true
	return c.cluster.Apply(ctx, kind, obj, options)
}

// DryRunCreate is Cluster's.
func (c ReadOnly) DryRunCreate(ctx context.Context, kind Kind, obj *unstructured.Unstructured) error {
	return c.cluster.DryRunCreate(ctx, kind, obj)
}
