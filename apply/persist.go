package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// attempts is how often a request is tried whose trouble may pass at once.
const attempts = 5

// Persist repeats a request that did not get through. Whatever else a run would
// wait for, such as a webhook that comes up, it tells. what names the request where
// its repetition is reported, such as "read Deployment web".
func Persist[T any](ctx context.Context, what string, request func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		answer, err := request()
		if err == nil || n == attempts || !didNotGetThrough(err) {
			return answer, err
		}
		pause := max(backoff(ctx, n), retryAfter(err))
		reportRetry(ctx, Retry{Of: what, Attempt: n, Pause: pause, Cause: inWords(err)})
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// didNotGetThrough tells trouble on the way, or of a busy server, from an
// answer.
func didNotGetThrough(err error) bool {
	return patience(err) > 0 && !isWebhookTransport(err) && missingAccount(err) == "" && !notServed(err)
}

// persistent is a cluster whose reads are repeated. A run needs none of it: what
// it could not read it sends.
type persistent struct{ Cluster }

func (p persistent) Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return Persist(ctx, actionText("reading", kind, namespace, name), func() (*unstructured.Unstructured, error) { return p.Cluster.Get(ctx, kind, namespace, name) })
}

func (p persistent) List(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error) {
	return Persist(ctx, actionText("listing", kind, namespace, ""), func() ([]*unstructured.Unstructured, error) { return p.Cluster.List(ctx, kind, namespace, query) })
}
