package ordering

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The annotations by which a SortOrder, decided during a build, reaches the
// applier. This file is the whole contract between package fn, which writes
// them, and package apply, which reads them.
const (
	// LayerAnnotation is "order/layer": the order's name and the layer's. It
	// alone is sent to the cluster.
	LayerAnnotation = "ordapply.dev/layer"
	// WaveAnnotation is the layer's rank in its own order, from 0. Numbers of
	// different orders are not comparable. Resources that no selector matched
	// carry none: they go before what uses them, or last.
	WaveAnnotation = "ordapply.dev/wave"
	// LayerNeedsAnnotation lists, comma-separated, every layer that must come
	// before, transitively. Absent means: every layer of the order with a
	// lower wave. Present and empty means: none.
	LayerNeedsAnnotation = "ordapply.dev/layer-needs"
	// GateAnnotation is what later layers wait for: "ready" (the default,
	// never written) or "applied".
	GateAnnotation = "ordapply.dev/gate"
	// LayerTimeoutAnnotation is how long the layer may take to become ready, a
	// Go duration.
	LayerTimeoutAnnotation = "ordapply.dev/layer-timeout"
	// UnmatchedAnnotation is "true" on resources that no selector matched.
	UnmatchedAnnotation = "ordapply.dev/unmatched"
	// EmittedAnnotation lists the tools whose own annotations were written
	// beside the stamps, and which are therefore no frame of their own.
	EmittedAnnotation = "ordapply.dev/emitted"
)

// StampAnnotations lists every annotation of the contract, sorted.
func StampAnnotations() []string {
	return []string{
		EmittedAnnotation, GateAnnotation, LayerAnnotation, LayerNeedsAnnotation,
		LayerTimeoutAnnotation, UnmatchedAnnotation, WaveAnnotation,
	}
}

// LastWave is the Wave of an unmatched resource's stamp as it is read: after all
// layers that have a wave, unless its layer-needs say otherwise.
const LastWave = math.MaxInt

// Stamp is what a SortOrder decided about one resource.
type Stamp struct {
	Order, Layer string
	Wave         int           // the layer's rank in its order, from 0; not written where Unmatched
	Needs        []string      // "order/layer" each; nil: all layers of lower waves
	Gate         Gate          // what later layers wait for
	Timeout      time.Duration // 0: the run's wave timeout
	Unmatched    bool          // no selector matched the resource
	Emitted      []string      // tools whose annotations were written too
}

// LayerName is the layer's name across orders, "order/layer".
func (s Stamp) LayerName() string { return s.Order + "/" + s.Layer }

// Annotations are the stamp as written on a resource. Only what says something
// is there: the default gate, an absent timeout and so on leave no trace.
func (s Stamp) Annotations() map[string]string {
	out := map[string]string{
		LayerAnnotation: s.LayerName(),
	}
	if !s.Unmatched {
		out[WaveAnnotation] = strconv.Itoa(s.Wave)
	}
	if s.Needs != nil {
		out[LayerNeedsAnnotation] = strings.Join(s.Needs, ",")
	}
	if s.Gate == Applied {
		out[GateAnnotation] = s.Gate.String()
	}
	if s.Timeout > 0 {
		out[LayerTimeoutAnnotation] = s.Timeout.String()
	}
	if s.Unmatched {
		out[UnmatchedAnnotation] = "true"
	}
	if len(s.Emitted) > 0 {
		out[EmittedAnnotation] = strings.Join(s.Emitted, ",")
	}
	return out
}

// ReadStamp reads a resource's annotations. ok is false when they carry no
// stamp at all; an incomplete or malformed stamp is an error that names the
// annotation.
func ReadStamp(annotations map[string]string) (s Stamp, ok bool, err error) {
	layer, has := annotations[LayerAnnotation]
	if !has {
		return s, false, strayStamp(annotations)
	}
	s.Order, s.Layer, has = strings.Cut(layer, "/")
	if !has || s.Order == "" || s.Layer == "" {
		return s, false, fmt.Errorf("annotation %s: %q is not order/layer", LayerAnnotation, layer)
	}
	s.Unmatched = annotations[UnmatchedAnnotation] == "true"
	if s.Wave, err = readWave(annotations, s.Unmatched); err != nil {
		return s, false, err
	}
	if needs, has := annotations[LayerNeedsAnnotation]; has {
		s.Needs = append([]string{}, splitList(needs)...)
	}
	if gate, has := annotations[GateAnnotation]; has {
		if s.Gate, err = ParseGate(gate); err != nil {
			return s, false, fmt.Errorf("annotation %s: %w", GateAnnotation, err)
		}
	}
	if timeout, has := annotations[LayerTimeoutAnnotation]; has {
		if s.Timeout, err = time.ParseDuration(timeout); err != nil || s.Timeout <= 0 {
			return s, false, fmt.Errorf("annotation %s: %q is not a duration such as 5m", LayerTimeoutAnnotation, timeout)
		}
	}
	s.Emitted = splitList(annotations[EmittedAnnotation])
	return s, true, nil
}

// readWave reads the layer's rank, which only unmatched resources may do without.
func readWave(annotations map[string]string, unmatched bool) (int, error) {
	text, has := annotations[WaveAnnotation]
	if !has && unmatched {
		return LastWave, nil
	}
	wave, err := strconv.Atoi(text)
	if err != nil || wave < 0 {
		return 0, fmt.Errorf("annotation %s: %q is not a whole number from 0", WaveAnnotation, text)
	}
	return wave, nil
}

// strayStamp refuses a stamp without its layer: half a stamp means that
// something between the build and the applier dropped the rest.
func strayStamp(annotations map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if key == WaveAnnotation || key == LayerNeedsAnnotation {
			return fmt.Errorf("annotation %s without %s: the stamp is incomplete; run sortorder again", key, LayerAnnotation)
		}
	}
	return nil
}

// splitList reads a comma-separated list; blanks around entries and empty
// entries are dropped.
func splitList(list string) []string {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}
