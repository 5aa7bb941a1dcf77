package health

// leftOver tells which entries of a list, by index, are about an older
// generation while the same controller has an entry about this one: what
// controllers of the Gateway API leave in status.parents and status.ancestors
// when a spec no longer names a parent.
func leftOver(items []any, generation int64) map[int]bool {
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
	gone := map[int]bool{}
	for i, controller := range stale {
		gone[i] = current[controller]
	}
	return gone
}

// isStale tells whether a condition of an entry is about an older generation.
func isStale(entry map[string]any, generation int64) bool {
	conditions, _ := entry["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if seen, ok := integer(condition["observedGeneration"]); ok && seen < generation {
			return true
		}
	}
	return false
}
