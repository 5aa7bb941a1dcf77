package check

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
)

// Malformed returns, for each CRD of apiextensions.k8s.io/v1 that the API server does not
// create or never establishes, an error that lists why: missing fields, a name that does
// not follow from its fields, or a kind that another CRD of the stream defines as well.
// The API server accepts a manifest with missing fields as a change of a CRD that exists.
func Malformed(ix *references.Index) map[object.ID]error {
	first, found := map[references.GroupKind]object.ID{}, map[object.ID]error{}
	for _, r := range ix.Resources {
		if !r.ID.IsCRD() || r.Version != "v1" {
			continue
		}
		problems := crdProblems(r.Name, r.Object)
		kind := references.DefinedKind(r.Object)
		if other, taken := first[kind]; !taken {
			first[kind] = r.ID
		} else if kind.Group != "" && kind.Kind != "" {
			problems = append(problems, fmt.Sprintf("%s defines %s in group %s, too", other, kind.Kind, kind.Group))
		}
		if len(problems) > 0 {
			found[r.ID] = fmt.Errorf("%s: correct the manifest", strings.Join(problems, "; "))
		}
	}
	return found
}

func crdProblems(name string, crd map[string]any) []string {
	spec, ok := references.Field(crd, "spec").(map[string]any)
	if !ok {
		return []string{"spec is missing"}
	}
	var problems []string
	for _, path := range []string{"group", "scope", "names.kind", "names.plural"} {
		if references.String(spec, strings.Split(path, ".")...) == "" {
			problems = append(problems, "spec."+path+" is missing")
		}
	}
	plural, group := references.String(spec, "names", "plural"), references.String(spec, "group")
	if want := plural + "." + group; plural != "" && group != "" && name != want {
		problems = append(problems, "metadata.name must be "+want+", the plural and the group")
	}
	versions := references.List(spec, "versions")
	if len(versions) == 0 {
		return append(problems, "spec.versions is empty")
	}
	stored := 0
	for i, version := range versions {
		if references.Field(version, "storage") == true {
			stored++
		}
		if _, ok := references.Field(version, "schema", "openAPIV3Schema").(map[string]any); !ok {
			problems = append(problems, fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema is missing", i))
		}
	}
	if stored != 1 {
		problems = append(problems, fmt.Sprintf("%d of its versions have storage: true, and one must", stored))
	}
	return problems
}
