package health

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// counters compares what is there with what is wanted: readyReplicas with
// spec.replicas, and the like for other nouns. Parts of a status have no spec.
func (r *reading) counters(path string, spec, status map[string]any, rank rank) {
	for key, value := range status {
		got, ok := integer(value)
		if !ok {
			continue
		}
		if strings.HasPrefix(key, "unavailable") && got > 0 && rank == certain {
			r.add(sign{means: busy, rank: certain, text: fmt.Sprintf("%s: %d", key, got)})
		}
		if want, ok := integer(spec[key]); ok && isSize(key) {
			r.count(key, got, want, min(rank, mild), fmt.Sprintf("%s: %d of %d", key, got, want))
		}
		if want, ok := wanted(key, spec, status); ok {
			r.count(key, got, want, rank, fmt.Sprintf("%s%s: %d of %d", path, key, got, want))
		}
		if isTroubled(key) && got > 0 {
			r.add(sign{means: trouble, rank: mild, text: fmt.Sprintf("%s%s: %d", path, key, got)})
		}
		if noun, ok := awaited(key); ok && got > 0 && !isCounted(noun, status) {
			r.add(sign{means: busy, rank: mild, text: fmt.Sprintf("%s%s: none of %d", path, key, got)})
		}
	}
}

// count adds a counter. That as many are ready as the spec asks for weighs as
// much as an Available; what else a counter has enough of, no bad sign minds.
func (r *reading) count(key string, got, want int64, rank rank, text string) {
	means := enough(got, want)
	switch {
	case means == good && rank == certain && isWorking(key):
		rank = faint
	case means == good:
		rank = aside
	}
	r.add(sign{means: means, rank: rank, text: text})
}

// isWorking tells counters of what works from those of what is up to date only.
func isWorking(key string) bool {
	for word := range words(key) {
		switch word {
		case "ready", "available", "healthy":
			return true
		}
	}
	return false
}

func enough(got, want int64) meaning {
	switch {
	case got < want:
		return busy
	case want > 0:
		return good
	}
	return silent
}

// awaited gives the noun of a field that tells how many there should be.
func awaited(key string) (string, bool) {
	for _, prefix := range []string{"expected", "desired"} {
		switch noun := strings.TrimPrefix(key, prefix); noun {
		case "Replicas", "Nodes", "Instances", "Members", "Workers":
			return noun, true
		}
	}
	return "", false
}

// isTroubled reports whether a field counts what is broken: failedNodes.
func isTroubled(key string) bool {
	switch firstWord(key) {
	case "failed", "unhealthy", "degraded", "faulty", "unready":
	default:
		return false
	}
	switch lastWord(key) {
	case "replicas", "nodes", "instances", "members", "workers", "machines", "shards", "components":
		return true
	}
	return false
}

// isSize tells of fields by which a spec says how many there should be, and a
// status how many there are, ready or not.
func isSize(key string) bool {
	switch key {
	case "replicas", "nodes", "instances", "members", "workers":
		return true
	}
	return false
}

// isCounted tells whether a status says how many of a noun there are. Zeros are
// commonly left out.
func isCounted(noun string, status map[string]any) bool {
	for key := range status {
		if _, wants := awaited(key); !wants && strings.HasSuffix(strings.ToLower(key), strings.ToLower(noun)) {
			return true
		}
	}
	return false
}

// wanted gives how many there should be of what a field of a status counts, if
// it counts what is as it should be.
func wanted(key string, spec, status map[string]any) (int64, bool) {
	switch key {
	case "numberReady", "numberAvailable", "updatedNumberScheduled": // as a DaemonSet counts
		return integer(status["desiredNumberScheduled"])
	case "ready", "healthy":
		return firstInteger(status["desired"], status["total"], status["size"], status["replicas"], spec["replicas"])
	}
	noun, ok := counted(key)
	if !ok {
		return 0, false
	}
	title := strings.ToUpper(noun[:1]) + noun[1:]
	var pods any
	if noun == "pods" { // a spec asks for replicas of them
		pods = spec["replicas"]
	}
	if n, ok := integer(status["expectedUpdated"+title]); ok && strings.HasPrefix(key, "updated") {
		return n, true // less than all while a partition holds an update back
	}
	return firstInteger(spec[noun], status["desired"+title], status["expected"+title], status["total"+title], status["matched"+title], status["observed"+title],
		status[noun+"Desired"], status[noun+"Expected"], status[noun+"Total"], status[noun], pods)
}

func firstInteger(values ...any) (int64, bool) {
	for _, value := range values {
		if n, ok := integer(value); ok {
			return n, true
		}
	}
	return 0, false
}

// counted gives the noun of a counter of things that are as they should be:
// replicas of readyReplicas, of updatedReadyReplicas and of replicasReady.
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

// cutFirst takes the first word off a camelCase name: replicas of
// readyReplicas.
func cutFirst(name, word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, word)
	if !ok || rest == "" || rest[0] < 'A' || rest[0] > 'Z' {
		return name, false
	}
	return strings.ToLower(rest[:1]) + rest[1:], true
}

// isShort tells whether a sentence says that there are fewer than there should
// be: "2 of 3 nodes are ready", "running (1/3 ready)".
func isShort(text string) bool {
	fields := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("()[],;", r) })
	for i, field := range fields {
		if field == "of" && i > 0 && i+1 < len(fields) {
			field = fields[i-1] + "/" + fields[i+1]
		}
		if got, want, ok := fraction(field); ok && got < want {
			return true
		}
	}
	return false
}

// percentage reads "40%" and "100.0%": how far something has come.
func percentage(text string) (meaning, bool) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	done, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case !ok || err != nil:
		return silent, false
	case done < 100:
		return busy, true
	}
	return good, true
}

// fraction reads "1/3": how many of how many.
func fraction(text string) (got, want int64, ok bool) {
	a, b, ok := strings.Cut(text, "/")
	got, errGot := strconv.ParseInt(a, 10, 64)
	want, errWant := strconv.ParseInt(b, 10, 64)
	return got, want, ok && errGot == nil && errWant == nil
}
