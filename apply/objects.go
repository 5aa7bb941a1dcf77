package apply

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// Options are the options of Objects. The zero value of each field selects the documented
// default. An Applier has more.
type Options struct {
	// Namespace is for namespaced objects without one; default "default".
	Namespace string
	// Manager is the field manager; default "ordapply".
	Manager string
	// Ordering selects the sources of the order; default: stamps of a SortOrder, annotations
	// of other tools, and inferred dependencies.
	Ordering ordering.Options
	// ForceConflicts takes over fields of other field managers after a conflict; default: a
	// conflict is an error.
	ForceConflicts applyset.Force
	// DryRun makes the API server validate everything and store nothing; nothing is waited for.
	DryRun bool
	// KeepGoing applies the objects that depend on no failed one; default: the run ends with
	// the wave of the failure.
	KeepGoing bool
	// Timeout bounds the run; default: the deadline of its context, if any.
	Timeout time.Duration
	// WaveTimeout bounds each wave whose layers set no timeout; default 5m, negative: none.
	WaveTimeout time.Duration
	// Events is called with every transition, always from one goroutine. The run is paused
	// until it returns. Default: discard.
	Events func(event.Event)
}

// Objects applies objects in their order and waits until they are ready: NewStream, Stream.Plan
// and Applier.Run in one call. The objects may come in any order, and are not changed. Nothing
// is written if their namespaces or dependencies have errors, which are reported together; the
// other errors are those of Applier.Run. Hooks of Helm are errors, unless SkipHooks of
// Options.Ordering is set, which leaves them out.
func Objects(ctx context.Context, cluster kube.Cluster, objects []*unstructured.Unstructured, options Options) (event.Summary, error) {
	namespace := cmp.Or(options.Namespace, "default")
	inputs := make([]Input, len(objects))
	for i, obj := range objects {
		inputs[i] = Input{Object: obj, Source: fmt.Sprintf("object %d", i+1)}
	}
	stream, err := NewStream(inputs, Scope{Namespace: namespace, Kind: cluster.Kind})
	if err != nil {
		return event.Summary{}, err
	}
	plan, err := stream.Plan(options.Ordering)
	if err != nil {
		return event.Summary{}, err
	}
	applier := Applier{
		Cluster: cluster, Namespace: namespace, Manager: options.Manager, ForceConflicts: options.ForceConflicts,
		DryRun: options.DryRun, KeepGoing: options.KeepGoing, Timeout: options.Timeout, WaveTimeout: options.WaveTimeout, Events: options.Events,
	}
	return applier.Run(ctx, plan, stream.Objects)
}
