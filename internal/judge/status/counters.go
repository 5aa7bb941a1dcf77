package status

import (
	"fmt"
	"strings"
)

// counters compares actual with desired counts, such as readyReplicas with
// spec.replicas. Parts of a status have no spec.
func (r *Signals) counters(path string, spec, status map[string]any, rank weight) {
	for key, value := range status {
		got, ok := Integer(value)
		if !ok {
			continue
		}
		if strings.HasPrefix(key, "unavailable") && got > 0 && rank == weightHigh {
			r.add(Signal{Means: MeaningInProgress, weight: weightHigh, Text: fmt.Sprintf("%s: %d", key, got)})
		}
		if want, ok := Integer(spec[key]); ok && isSize(key) {
			r.count(key, got, want, min(rank, weightMedium), fmt.Sprintf("%s: %d of %d", key, got, want))
		}
		if want, ok := desiredCount(key, spec, status); ok {
			r.count(key, got, want, rank, fmt.Sprintf("%s%s: %d of %d", path, key, got, want))
		}
		if countsFailures(key) && got > 0 {
			r.add(Signal{Means: MeaningTrouble, weight: weightMedium, Text: fmt.Sprintf("%s%s: %d", path, key, got)})
		}
		if noun, ok := desiredCountNoun(key); ok && got > 0 && !isCounted(noun, status) {
			r.add(Signal{Means: MeaningInProgress, weight: weightMedium, Text: fmt.Sprintf("%s%s: none of %d", path, key, got)})
		}
	}
}

// ReadyCount returns the sum of a status's ready, available, healthy and updated counts.
func ReadyCount(status map[string]any) int64 {
	var total int64
	for key, value := range status {
		switch value := value.(type) {
		case map[string]any:
			total += ReadyCount(value)
		case []any:
			for _, item := range value {
				part, _ := item.(map[string]any)
				total += ReadyCount(part)
			}
		case int64:
			if _, counts := counted(key); (counts || oneOf(key, "ready", "healthy")) && !isNegated(key) {
				total += value
			}
		}
	}
	return total
}

// count adds the result of a counter. Enough ready replicas weigh as much as
// condition Available; other good counters have no weight against bad signals.
func (r *Signals) count(key string, got, want int64, rank weight, text string) {
	means := compareCount(got, want)
	switch {
	case means == MeaningGood && rank == weightHigh && countsReady(key):
		rank = weightLow
	case means == MeaningGood:
		rank = weightNone
	}
	r.add(Signal{Means: means, weight: rank, Text: text})
}

// countsReady reports whether a counter counts working parts, not only updated
// ones.
func countsReady(key string) bool {
	return hasWord(key, "ready", "available", "healthy")
}

// desiredCountNoun returns the noun of a field that holds a desired count.
func desiredCountNoun(key string) (string, bool) {
	for _, prefix := range []string{"expected", "desired"} {
		switch noun := strings.TrimPrefix(key, prefix); noun {
		case "Replicas", "Nodes", "Instances", "Members", "Workers":
			return noun, true
		}
	}
	return "", false
}

// countsFailures reports whether a field counts failures, such as failedNodes.
func countsFailures(key string) bool {
	return oneOf(firstWord(key), "failed", "unhealthy", "degraded", "faulty", "unready") &&
		oneOf(lastWord(key), "replicas", "nodes", "instances", "members", "workers", "machines", "shards", "components")
}

// isSize reports whether a field is a size: desired in a spec, actual in a
// status, ready or not.
func isSize(key string) bool {
	return oneOf(key, "replicas", "nodes", "instances", "members", "workers")
}

// isCounted reports whether a status has a count for a noun. Zeros are commonly
// omitted.
func isCounted(noun string, status map[string]any) bool {
	for key := range status {
		if _, wants := desiredCountNoun(key); !wants && strings.HasSuffix(strings.ToLower(key), strings.ToLower(noun)) {
			return true
		}
	}
	return false
}

// desiredCount returns the desired value of a status field that counts good parts.
func desiredCount(key string, spec, status map[string]any) (int64, bool) {
	switch key {
	case "numberReady", "numberAvailable", "updatedNumberScheduled": // of DaemonSets
		return Integer(status["desiredNumberScheduled"])
	case "ready", "healthy":
		return firstInteger(status["desired"], status["total"], status["size"], status["replicas"], spec["replicas"])
	}
	noun, ok := counted(key)
	if !ok {
		return 0, false
	}
	title := strings.ToUpper(noun[:1]) + noun[1:]
	var pods any
	if noun == "pods" { // specs call their number replicas
		pods = spec["replicas"]
	}
	if n, ok := Integer(status["expectedUpdated"+title]); ok && strings.HasPrefix(key, "updated") {
		return n, true // less than all while a partition holds back an update
	}
	return firstInteger(spec[noun], status["desired"+title], status["expected"+title], status["total"+title], status["matched"+title], status["observed"+title],
		status[noun+"Desired"], status[noun+"Expected"], status[noun+"Total"], status[noun], pods)
}

// counted returns the noun of a counter of good items: replicas for
// readyReplicas, updatedReadyReplicas and replicasReady.
func counted(key string) (noun string, ok bool) {
	for _, suffix := range []string{"Updated", "Ready", "Available", "Healthy"} {
		if rest, has := strings.CutSuffix(key, suffix); has && rest != "" {
			return rest, true
		}
	}
	noun = key
	for _, prefix := range []string{"updated", "ready", "available", "healthy"} {
		if rest, has := cutFirst(noun, prefix); has {
			noun, ok = rest, true
		}
	}
	return noun, ok
}

// cutFirst removes the first word of a camelCase name: replicas for
// readyReplicas.
func cutFirst(name, word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, word)
	if !ok || rest == "" || rest[0] < 'A' || rest[0] > 'Z' {
		return name, false
	}
	return strings.ToLower(rest[:1]) + rest[1:], true
}
