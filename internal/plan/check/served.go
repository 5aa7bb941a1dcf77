package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Unserved returns the errors of the resources whose version or kind the CRDs of a
// stream will not serve: they define other versions, or another kind name. Kinds that a
// CRD of elsewhere defines, or that serves reports, are not taken for misspelt; serves
// may be nil. Resources with the same cause share one error.
func Unserved(ix *references.Index, elsewhere []ordering.Resource, serves func(object.Meta) bool) map[object.ID]error {
	c := versionCheck{ix, elsewhere, serves}
	type cause struct{ group, kind, version string }
	known, errs := map[cause]error{}, map[object.ID]error{}
	for _, r := range c.Resources {
		if len(c.CRDsByGroup[r.Group]) == 0 {
			continue
		}
		what := cause{r.Group, r.Kind, r.Version}
		err, asked := known[what]
		if !asked {
			if why := c.whyUnserved(r); why != "" {
				err = errors.New(why)
			}
			known[what] = err
		}
		if err != nil {
			errs[r.ID] = err
		}
	}
	return errs
}

type versionCheck struct {
	*references.Index
	elsewhere []ordering.Resource
	serves    func(object.Meta) bool
}

// whyUnserved returns why a custom resource will not be served; "" if it will,
// or if the stream does not show it.
func (c versionCheck) whyUnserved(r ordering.Resource) string {
	gk := references.GroupKind{Group: r.Group, Kind: r.Kind}
	crd, defined := c.CRDs[gk]
	switch {
	case defined:
		served := servedVersions(c.Resources[crd].Object)
		if len(served) == 0 || slices.Contains(served, r.Version) {
			return ""
		}
		return fmt.Sprintf("%s serves %s in %s, not in %s: update the manifest's apiVersion to %s/%s",
			c.Resources[crd].ID, r.Kind, strings.Join(served, ", "), r.Version, r.Group, served[0])
	case len(c.ProvidersOf(r)) > 0, c.definedElsewhere(gk), c.serves != nil && c.serves(r.Meta):
		return ""
	}
	if crd, kind := c.nearestKind(gk); kind != "" {
		return fmt.Sprintf("no CustomResourceDefinition in the stream defines %s in group %s; %s defines %s: update the manifest's kind to %s",
			r.Kind, r.Group, c.Resources[crd].ID, kind, kind)
	}
	return ""
}

// definedElsewhere reports whether a CRD of elsewhere defines a kind.
func (c versionCheck) definedElsewhere(gk references.GroupKind) bool {
	return slices.ContainsFunc(c.elsewhere, func(r ordering.Resource) bool { return r.ID.IsCRD() && references.DefinedKind(r.Object) == gk })
}

// nearestKind returns the kind of the same group that a manifest most likely
// means, and its CRD; "" if none. It accepts up to two wrong letters, plurals
// and short names.
func (c versionCheck) nearestKind(written references.GroupKind) (crd int, kind string) {
	least := 3
	for _, i := range c.CRDsByGroup[written.Group] {
		names := references.Field(c.Resources[i].Object, "spec", "names")
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

func servedVersions(crd map[string]any) []string {
	var out []string
	for _, v := range references.List(crd, "spec", "versions") {
		if references.Field(v, "served") == true {
			out = append(out, references.String(v, "name"))
		}
	}
	return out
}
