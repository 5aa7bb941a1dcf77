package operation

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// lostOrder returns an error that names the orders in which objects of the stream were applied
// last, as the layers of the live objects say, and which their manifests no longer have; or
// those of the newest revision, former, if no manifest has an order now. It is nil if there are
// none.
func lostOrder(stream *apply.Stream, layers iter.Seq2[object.ID, string], former []string) error {
	orders, objects := map[string]bool{}, 0
	for id, layer := range layers {
		manifest := stream.Objects[id]
		if layer == "" || manifest == nil || manifest.GetAnnotations()[stamp.LayerAnnotation] != "" {
			continue
		}
		order, _, _ := strings.Cut(layer, "/")
		orders[order] = true
		objects++
	}
	switch {
	case objects > 0:
	case len(former) > 0 && !hasStamps(stream):
		return fmt.Errorf("the stream has no order, and the newest revision of the apply set has order %s. %s", strings.Join(former, ", "), input.SkippedFunction)
	default:
		return nil
	}
	return fmt.Errorf("%s of the stream lost order %s since the last apply. %s",
		plain.Count(objects, "object"), strings.Join(slices.Sorted(maps.Keys(orders)), ", "), input.SkippedFunction)
}

// hasStamps reports whether a resource of the stream has a place in a SortOrder.
func hasStamps(stream *apply.Stream) bool {
	for _, manifest := range stream.Objects {
		if manifest.GetAnnotations()[stamp.LayerAnnotation] != "" {
			return true
		}
	}
	return false
}

// refused returns the error about a lost order for a stream that must have one.
func refused(lost error) error {
	return fmt.Errorf("%w. If they are to have none, apply them once without --require-order", lost)
}

// layersBefore returns the layers of live objects before a run.
func layersBefore(existing []event.Existing) iter.Seq2[object.ID, string] {
	return func(yield func(object.ID, string) bool) {
		for _, e := range existing {
			if !yield(e.ID, e.Layer) {
				return
			}
		}
	}
}

// layersIn returns the layers of the live objects of a preview.
func layersIn(previewed *preview.Preview) iter.Seq2[object.ID, string] {
	return func(yield func(object.ID, string) bool) {
		for _, row := range previewed.Rows {
			if row.Live != nil && !yield(row.ID, row.Live.GetAnnotations()[stamp.LayerAnnotation]) {
				return
			}
		}
	}
}

// checkOrder warns of a lost order, in each output of the run, or returns it as an error if the stream must have one. A
// rollback brings back the order of its revision.
func (a *Apply) checkOrder(e execution, existing []event.Existing, former []string) error {
	lost := lostOrder(e.stream, layersBefore(existing), former)
	switch {
	case lost == nil || e.metadata.Revision.Rollback > 0:
		return nil
	case a.RequireOrder:
		return refused(lost)
	}
	plain.Message(e.notes, "warning: ", lost.Error())
	e.reporters.LostOrder(lost)
	return nil
}
