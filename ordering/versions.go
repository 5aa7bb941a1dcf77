package ordering

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
)

// unserved returns errors about custom resources that the stream's own CRDs
// will not serve: they define other versions, or another kind name. Resources
// with the same cause share one error.
func (b *builder) unserved() error {
	type cause struct{ group, kind, version string }
	alike := map[cause][]int{}
	var causes []cause
	for i, r := range b.resources {
		if len(b.crdsByGroup[r.Group]) == 0 {
			continue
		}
		c := cause{r.Group, r.Kind, r.Version}
		if alike[c] == nil {
			causes = append(causes, c)
		}
		alike[c] = append(alike[c], i)
	}
	var errs []error
	for _, c := range causes {
		r := b.resources[alike[c][0]]
		why := b.whyUnserved(r)
		if why == "" {
			continue
		}
		who := located(r)
		if more := len(alike[c]) - 1; more > 0 {
			who += " and " + plain.Count(more, "other")
		}
		errs = append(errs, fmt.Errorf("%s: %s", who, why))
	}
	return errors.Join(errs...)
}

// whyUnserved returns why a custom resource will not be served; "" if it will,
// or if the stream does not show it.
func (b *builder) whyUnserved(r Resource) string {
	gk := groupKind{r.Group, r.Kind}
	crd, defined := b.crds[gk]
	switch {
	case defined:
		served := servedVersions(b.resources[crd].Object)
		if len(served) == 0 || slices.Contains(served, r.Version) {
			return ""
		}
		return fmt.Sprintf("%s serves %s in %s, not in %s: update the manifest's apiVersion to %s/%s",
			b.resources[crd].ID, r.Kind, strings.Join(served, ", "), r.Version, r.Group, served[0])
	case len(b.providersOf(r)) > 0, b.definedElsewhere(gk), b.options.Serves != nil && b.options.Serves(r.Meta):
		return ""
	}
	if crd, kind := b.nearestKind(gk); kind != "" {
		return fmt.Sprintf("no CustomResourceDefinition in the stream defines %s in group %s; %s defines %s: update the manifest's kind to %s",
			r.Kind, r.Group, b.resources[crd].ID, kind, kind)
	}
	return ""
}

// definedElsewhere reports whether a CRD outside the plan defines a kind.
func (b *builder) definedElsewhere(gk groupKind) bool {
	return slices.ContainsFunc(b.options.Excluded, func(r Resource) bool { return r.ID.IsCRD() && definedKind(r.Object) == gk })
}

// nearestKind returns the kind of the same group that a manifest most likely
// means, and its CRD; "" if none. It accepts up to two wrong letters, plurals
// and short names.
func (b *builder) nearestKind(written groupKind) (crd int, kind string) {
	least := 3
	for _, i := range b.crdsByGroup[written.group] {
		names := at(b.resources[i].Object, "spec", "names")
		defined := str(names, "kind")
		letters, _ := editDistance(strings.ToLower(written.kind), strings.ToLower(defined))
		for _, other := range append(texts(names, "shortNames"), str(names, "plural"), str(names, "singular")) {
			if strings.EqualFold(other, written.kind) {
				letters = 0
			}
		}
		if letters < least && 2*letters <= len(written.kind) {
			crd, kind, least = i, defined, letters
		}
	}
	return crd, kind
}

// servedVersions returns the versions that a CRD serves.
func servedVersions(crd map[string]any) []string {
	var out []string
	for _, v := range list(crd, "spec", "versions") {
		if at(v, "served") == true {
			out = append(out, str(v, "name"))
		}
	}
	return out
}
