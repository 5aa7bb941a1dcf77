package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// undefinedKinds reports custom kinds that neither the stream defines, in its plan or by a
// hook before it, nor the cluster serves, if there is one.
func (s stream) undefinedKinds() []Finding {
	elsewhere := references.NewIndex(append(s.ExcludedResources, s.Options.Before...), nil)
	first, count := map[string]int{}, map[string]int{}
	var kinds []string
	for i, r := range s.Resources {
		serves := s.Options.Serves
		switch kind := r.GroupKind(); {
		case object.IsNative(r.Group), len(s.ProvidersOf(r)) > 0, len(elsewhere.ProvidersOf(r)) > 0, serves != nil && serves(r.Meta):
		case count[kind] > 0:
			count[kind]++
		default:
			kinds = append(kinds, kind)
			first[kind], count[kind] = i, 1
		}
	}
	var found []Finding
	for _, kind := range kinds {
		r := s.Resources[first[kind]]
		who := r.Located()
		if count[kind] > 1 {
			who += " and " + plain.Count(count[kind]-1, "other")
		}
		found = append(found, Finding{Text: fmt.Sprintf("%s: nothing in the stream defines the kind %s: it must already exist in the cluster, or be created outside the stream%s", who, kind, s.nearestDefined(r))})
	}
	return found
}

// nearestDefined ends a remark on a kind that nothing defines, with the one of the stream's
// CustomResourceDefinitions that its author may mean.
func (s stream) nearestDefined(r ordering.Resource) string {
	var defined []references.GroupKind
	for kind := range s.CRDs {
		defined = append(defined, kind)
	}
	slices.SortFunc(defined, func(a, b references.GroupKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	near, ok := nearest.Best(defined, func(known references.GroupKind) (int, bool) {
		return nearest.KindDistance(r.Group, r.Kind, known.Group, known.Kind)
	})
	if !ok {
		return ""
	}
	return "; did you mean " + near.Kind + "." + near.Group + "?"
}
