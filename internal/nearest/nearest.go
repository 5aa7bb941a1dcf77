// Package nearest finds the name that a misspelled one most likely means.
//
//	nearest.DidYouMean("wep", []string{"db", "web"}) // "; did you mean web?"
package nearest

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/object"
)

// DidYouMean returns the end of an error message about an unknown name, with the
// most similar of the known names: "; did you mean web?", or "" if none is similar.
func DidYouMean(written string, names []string) string {
	best, ok := Best(names, func(name string) (int, bool) { return Distance(written, name) })
	if !ok {
		return ""
	}
	return "; did you mean " + best + "?"
}

// Best returns the first of the items with the lowest score. ok is false if score
// accepts none of them.
func Best[T any](items []T, score func(T) (distance int, ok bool)) (best T, ok bool) {
	least := 0
	for _, item := range items {
		if distance, accepted := score(item); accepted && (!ok || distance < least) {
			best, least, ok = item, distance, true
		}
	}
	return best, ok
}

// Distance returns the edit distance of two strings; close reports whether one
// may be a misspelling of the other. A string that contains the other, such as
// a name with a prefix, is close.
func Distance(a, b string) (letters int, close bool) {
	if contains(a, b) || contains(b, a) {
		return max(len(a), len(b)) - min(len(a), len(b)), true
	}
	letters = Edits(a, b)
	if max(len(a), len(b)) < 6 { // two other letters make another word, such as start of sort
		return letters, letters <= 1
	}
	return letters, letters <= max(2, len(a)/3)
}

// contains reports whether a name contains another: two letters only as a word, as shop-db
// contains db, but cascade not as.
func contains(name, part string) bool {
	if len(part) == 2 {
		return slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), part)
	}
	return len(part) > 1 && strings.Contains(name, part)
}

// Edits returns the number of letters to insert, remove or replace between two
// strings; two neighbours that changed places are one. Strings longer than limits.Name count
// as different in all letters, because the time grows with the product of their lengths.
func Edits(a, b string) int {
	switch longest := max(len(a), len(b)); {
	case longest > limits.Name:
		return longest
	case swapped(a, b):
		return 1
	}
	return levenshtein.ComputeDistance(a, b)
}

// swapped reports whether only two neighbouring letters changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// KindDistance returns how different a written kind is from a known one; close reports
// whether it may be a misspelling of it. Only one of kind and group may be misspelled.
func KindDistance(writtenGroup, writtenKind, knownGroup, knownKind string) (letters int, close bool) {
	letters, close = Distance(strings.ToLower(writtenKind), strings.ToLower(knownKind))
	if writtenGroup == knownGroup {
		return letters, close
	}
	inGroup := Edits(writtenGroup, knownGroup)
	return inGroup, letters == 0 && inGroup <= min(2, len(writtenGroup)/3)
}

// IDDistance returns how different two IDs are; close reports whether one may be a
// mistake for the other: the same kind with a similar name, or the same name.
func IDDistance(a, b object.ID) (distance int, close bool) {
	if a.Name == b.Name {
		if kind, ok := Distance(a.Kind, b.Kind); ok || a.Namespace == b.Namespace {
			return kind + differ(a.Namespace, b.Namespace) + differ(a.Group, b.Group), true
		}
	}
	if !strings.EqualFold(a.Kind, b.Kind) {
		return 0, false
	}
	distance, close = Distance(a.Name, b.Name)
	return distance + 2*differ(a.Namespace, b.Namespace) + differ(a.Group, b.Group), close
}

func differ(a, b string) int {
	if a == b {
		return 0
	}
	return 1
}
