package ordering

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/references"
)

// unserved returns errors about custom resources that the stream's own CRDs
// will not serve: they define other versions, or another kind name. Resources
// with the same cause share one error.
func (b *builder) unserved() error {
	type cause struct{ group, kind, version string }
	alike := map[cause][]int{}
	var causes []cause
	for i, r := range b.Resources {
		if len(b.CRDsByGroup[r.Group]) == 0 {
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
		r := b.Resources[alike[c][0]]
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
func (b *builder) whyUnserved(r references.Resource) string {
	gk := references.GroupKind{Group: r.Group, Kind: r.Kind}
	crd, defined := b.CRDs[gk]
	switch {
	case defined:
		served := servedVersions(b.Resources[crd].Object)
		if len(served) == 0 || slices.Contains(served, r.Version) {
			return ""
		}
		return fmt.Sprintf("%s serves %s in %s, not in %s: update the manifest's apiVersion to %s/%s",
			b.Resources[crd].ID, r.Kind, strings.Join(served, ", "), r.Version, r.Group, served[0])
	case len(b.ProvidersOf(r)) > 0, b.definedElsewhere(gk), b.options.Serves != nil && b.options.Serves(r.Meta):
		return ""
	}
	if crd, kind := b.nearestKind(gk); kind != "" {
		return fmt.Sprintf("no CustomResourceDefinition in the stream defines %s in group %s; %s defines %s: update the manifest's kind to %s",
			r.Kind, r.Group, b.Resources[crd].ID, kind, kind)
	}
	return ""
}

// definedElsewhere reports whether a CRD outside the plan defines a kind.
func (b *builder) definedElsewhere(gk references.GroupKind) bool {
	return slices.ContainsFunc(b.options.Excluded, func(r references.Resource) bool { return r.ID.IsCRD() && references.DefinedKind(r.Object) == gk })
}

// nearestKind returns the kind of the same group that a manifest most likely
// means, and its CRD; "" if none. It accepts up to two wrong letters, plurals
// and short names.
func (b *builder) nearestKind(written references.GroupKind) (crd int, kind string) {
	least := 3
	for _, i := range b.CRDsByGroup[written.Group] {
		names := references.Field(b.Resources[i].Object, "spec", "names")
		defined := references.String(names, "kind")
		letters, _ := nearest.Distance(strings.ToLower(written.Kind), strings.ToLower(defined))
		for _, other := range append(references.Texts(names, "shortNames"), references.String(names, "plural"), references.String(names, "singular")) {
			if strings.EqualFold(other, written.Kind) {
				letters = 0
			}
		}
		if letters < least && 2*letters <= len(written.Kind) {
			crd, kind, least = i, defined, letters
		}
	}
	return crd, kind
}

// servedVersions returns the versions that a CRD serves.
func servedVersions(crd map[string]any) []string {
	var out []string
	for _, v := range references.List(crd, "spec", "versions") {
		if references.Field(v, "served") == true {
			out = append(out, references.String(v, "name"))
		}
	}
	return out
}
