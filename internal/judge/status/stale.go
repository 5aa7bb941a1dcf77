package status

import "slices"

// staleItems returns the indices of entries about an older generation if the same
// controller has an entry about the current one. Gateway API controllers leave
// such entries in status.parents and status.ancestors when a spec no longer
// names a parent.
func staleItems(items []any, generation int64) map[int]bool {
	stale, current := map[int]string{}, map[string]bool{}
	for i, item := range items {
		entry, _ := item.(map[string]any)
		controller, _ := entry["controllerName"].(string)
		if controller == "" {
			return nil
		}
		if isStale(entry, generation) {
			stale[i] = controller
		} else {
			current[controller] = true
		}
	}
	superseded := map[int]bool{}
	for i, controller := range stale {
		superseded[i] = current[controller]
	}
	return superseded
}

// isStale reports whether a condition of an entry is about an older generation.
func isStale(entry map[string]any, generation int64) bool {
	return slices.ContainsFunc(Conditions(entry), func(condition map[string]any) bool {
		seen, ok := Integer(condition["observedGeneration"])
		return ok && seen < generation
	})
}
