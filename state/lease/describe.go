package lease

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Reader reads a Lease.
type Reader interface {
	Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error)
}

// Describe returns who holds the lock with this Lease, since when, and when the holder renewed it
// last, or that it has expired, by the clock of the holder. It makes one request.
func Describe(ctx context.Context, cluster Reader, id object.ID, now time.Time) (string, error) {
	live, err := cluster.Get(ctx, Kind(), id.Namespace, id.Name)
	if apierrors.IsNotFound(err) {
		return "no run holds the lock", nil
	}
	if err != nil {
		return "", err
	}
	spec, err := leaseSpec(live)
	switch {
	case err != nil:
		return "", err
	case holderOf(spec) == "":
		return "no run holds the lock", nil
	}
	renewed := timeOf(spec.RenewTime)
	if now.Sub(renewed) > durationOf(spec, DefaultLifetime) {
		return fmt.Sprintf("the lock of %s expired: it was renewed last at %s", process(holderOf(spec)), clockTime(renewed)), nil
	}
	return fmt.Sprintf("the lock is held by %s since %s, renewed at %s", process(holderOf(spec)), clockTime(timeOf(spec.AcquireTime)), clockTime(renewed)), nil
}

// process returns a holder without the time that tells apart runs with the same process ID. Any
// account that may write the Lease chooses the text, so it is one line, without control characters,
// and cut if it is long.
func process(holder string) string {
	who, _, _ := strings.Cut(holder, startedAt)
	return plain.Clip(plain.OneLine(plain.Line(who)), holderWidth)
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
