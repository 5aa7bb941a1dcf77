package ordering

import (
	"strings"

	"github.com/ordapply/ordapply/object"
)

// DidYouMean is the end of a message about a name that names nothing: the
// nearest of the names there are, or nothing.
func DidYouMean(written string, names []string) string {
	best, bestScore := "", 0
	for _, name := range names {
		if score, close := distance(written, name); close && (best == "" || score < bestScore) {
			best, bestScore = name, score
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// nearestID is the resource that a reference most likely means: one of the
// same kind with a similar name, or one of the same name; not the one that
// refers.
func nearestID(written object.ID, resources []Resource, refers object.ID) (object.ID, bool) {
	var best object.ID
	bestScore, found := 0, false
	for _, r := range resources {
		score, ok := idDistance(written, r.ID)
		if ok && r.ID != refers && (!found || score < bestScore) {
			best, bestScore, found = r.ID, score, true
		}
	}
	return best, found
}

func idDistance(a, b object.ID) (score int, close bool) {
	if a.Name == b.Name {
		if kind, ok := distance(a.Kind, b.Kind); ok || a.Namespace == b.Namespace {
			return kind + differ(a.Namespace, b.Namespace) + differ(a.Group, b.Group), true
		}
	}
	if !strings.EqualFold(a.Kind, b.Kind) {
		return 0, false
	}
	score, close = distance(a.Name, b.Name)
	return score + 2*differ(a.Namespace, b.Namespace) + differ(a.Group, b.Group), close
}

func differ(a, b string) int {
	if a == b {
		return 0
	}
	return 1
}

// distance counts the letters to change to make one text the other; close
// tells whether they may be meant to be the same. A text that holds the other,
// as a name with a prefix does, is close.
func distance(a, b string) (letters int, close bool) {
	if len(a) > 1 && len(b) > 1 && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return max(len(a), len(b)) - min(len(a), len(b)), true
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal + differ(a[i:i+1], b[j:j+1])
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)], row[len(b)] <= max(2, len(a)/3)
}
