package ordering

import (
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/ordapply/ordapply/object"
)

// DidYouMean returns the end of an error message about an unknown name, with the
// most similar of the known names: "; did you mean web?", or "" if none is similar.
func DidYouMean(written string, names []string) string {
	best, bestScore := "", 0
	for _, name := range names {
		if score, close := editDistance(written, name); close && (best == "" || score < bestScore) {
			best, bestScore = name, score
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// nearestID returns the resource that a reference most likely means: one of the
// same kind with a similar name, or one with the same name. It never returns
// the referring resource.
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
		if kind, ok := editDistance(a.Kind, b.Kind); ok || a.Namespace == b.Namespace {
			return kind + differ(a.Namespace, b.Namespace) + differ(a.Group, b.Group), true
		}
	}
	if !strings.EqualFold(a.Kind, b.Kind) {
		return 0, false
	}
	score, close = editDistance(a.Name, b.Name)
	return score + 2*differ(a.Namespace, b.Namespace) + differ(a.Group, b.Group), close
}

func differ(a, b string) int {
	if a == b {
		return 0
	}
	return 1
}

// editDistance returns the edit distance of two strings; close reports whether one
// may be a misspelling of the other. A string that contains the other, such as
// a name with a prefix, is close.
func editDistance(a, b string) (letters int, close bool) {
	if len(a) > 1 && len(b) > 1 && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return max(len(a), len(b)) - min(len(a), len(b)), true
	}
	letters = levenshtein.ComputeDistance(a, b)
	return letters, letters <= max(2, len(a)/3)
}
