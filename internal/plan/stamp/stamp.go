package stamp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// The annotations that pass the decisions of a SortOrder from the build to the applier.
const (
	// LayerAnnotation is the layer as "order/layer". It is the only stamp that
	// is sent to the cluster.
	LayerAnnotation = "ordapply.dev/layer"
	// WaveAnnotation is the layer's rank in its order, from 0. Numbers of
	// different orders are not comparable. Unmatched resources have none: they
	// come before their dependents, or last.
	WaveAnnotation = "ordapply.dev/wave"
	// LayerNeedsAnnotation lists, comma-separated, every layer that comes
	// before, transitively. If it is absent, these are all layers of the order
	// with a lower wave; if it is empty, there are none.
	LayerNeedsAnnotation = "ordapply.dev/layer-needs"
	// GateAnnotation is the gate before later layers: "ready" (the default,
	// which is never written) or "applied".
	GateAnnotation = "ordapply.dev/gate"
	// LayerTimeoutAnnotation limits how long the layer may take to become
	// ready, as a Go duration above 0, such as 5m.
	LayerTimeoutAnnotation = "ordapply.dev/layer-timeout"
	// UnmatchedAnnotation is "true" on resources that no selector matched, or "placed" if
	// the order says where these go, as with unmatched: true.
	UnmatchedAnnotation = "ordapply.dev/unmatched"
	// EmittedAnnotation lists, comma-separated, the tools whose own annotations
	// were written with the stamps. These annotations are not read as a frame.
	EmittedAnnotation = "ordapply.dev/emitted"
)

// Keys returns the annotation keys of a stamp, sorted.
func Keys() []string {
	return []string{
		EmittedAnnotation, GateAnnotation, LayerAnnotation, LayerNeedsAnnotation,
		LayerTimeoutAnnotation, UnmatchedAnnotation, WaveAnnotation,
	}
}

// LastWave is the Wave of an unmatched resource's stamp: after all layers,
// unless its layer-needs say otherwise.
const LastWave = math.MaxInt

// Stamp is a SortOrder's decision about one resource.
type Stamp struct {
	Order, Layer string        // the name of the order, and of its layer
	Wave         int           // the layer's rank in its order, from 0; not written if Unmatched
	Needs        []string      // "order/layer" each; nil means all layers of lower waves
	Gate         ordering.Gate // before later layers
	Timeout      time.Duration // 0 means the run's wave timeout
	Unmatched    bool          // no selector matched the resource
	Listed       bool          // Unmatched, and the order says where such resources go
	Emitted      []string      // tools whose annotations were written too
}

// LayerName returns the layer as "order/layer".
func (s Stamp) LayerName() string { return s.Order + "/" + s.Layer }

// Annotations returns the stamp as annotations. Fields with default values are
// omitted.
func (s Stamp) Annotations() map[string]string {
	out := map[string]string{LayerAnnotation: s.LayerName()}
	switch {
	case s.Listed:
		out[UnmatchedAnnotation] = "placed"
	case s.Unmatched:
		out[UnmatchedAnnotation] = "true"
	default:
		out[WaveAnnotation] = strconv.Itoa(s.Wave)
	}
	if s.Needs != nil {
		out[LayerNeedsAnnotation] = strings.Join(s.Needs, ",")
	}
	if s.Gate == ordering.Applied {
		out[GateAnnotation] = s.Gate.String()
	}
	if s.Timeout > 0 {
		out[LayerTimeoutAnnotation] = s.Timeout.String()
	}
	if len(s.Emitted) > 0 {
		out[EmittedAnnotation] = strings.Join(s.Emitted, ",")
	}
	return out
}

// Read returns the stamp in a resource's annotations. ok is false if there
// is none. An incomplete or malformed stamp is an error that names the
// annotation; ok is then false, too.
func Read(annotations map[string]string) (s Stamp, ok bool, err error) {
	layer, has := annotations[LayerAnnotation]
	if !has {
		return s, false, incompleteStamp(annotations)
	}
	s.Order, s.Layer, has = strings.Cut(layer, "/")
	if !has || s.Order == "" || s.Layer == "" {
		return s, false, fmt.Errorf("annotation %s: %q is not order/layer", LayerAnnotation, layer)
	}
	s.Listed = annotations[UnmatchedAnnotation] == "placed"
	s.Unmatched = s.Listed || annotations[UnmatchedAnnotation] == "true"
	if s.Wave, err = readWave(annotations, s.Unmatched); err != nil {
		return s, false, err
	}
	if needs, has := annotations[LayerNeedsAnnotation]; has {
		s.Needs = append([]string{}, references.SplitList(needs)...)
	}
	if gate, has := annotations[GateAnnotation]; has {
		if s.Gate, err = ordering.ParseGate(gate); err != nil {
			return s, false, fmt.Errorf("annotation %s: %w", GateAnnotation, err)
		}
	}
	if timeout, has := annotations[LayerTimeoutAnnotation]; has {
		if s.Timeout, err = time.ParseDuration(timeout); err != nil || s.Timeout <= 0 {
			return s, false, fmt.Errorf("annotation %s: %q is not a duration such as 5m", LayerTimeoutAnnotation, timeout)
		}
	}
	s.Emitted = references.SplitList(annotations[EmittedAnnotation])
	return s, true, nil
}

// readWave reads the layer's rank. Only unmatched resources may omit it.
func readWave(annotations map[string]string, unmatched bool) (int, error) {
	text, has := annotations[WaveAnnotation]
	if !has && unmatched {
		return LastWave, nil
	}
	wave, err := strconv.Atoi(text)
	if err != nil || wave < 0 {
		return 0, fmt.Errorf("annotation %s: %q is not a non-negative integer", WaveAnnotation, text)
	}
	return wave, nil
}

// incompleteStamp returns an error for a stamp without its layer, which means that a
// tool between the build and the applier dropped an annotation.
func incompleteStamp(annotations map[string]string) error {
	for _, key := range []string{LayerNeedsAnnotation, WaveAnnotation} {
		if _, has := annotations[key]; has {
			return fmt.Errorf("annotation %s without %s: the stamp is incomplete; run sortorder again", key, LayerAnnotation)
		}
	}
	return nil
}
