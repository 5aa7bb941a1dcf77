package edges

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// KptDependsOnAnnotation is read by `kpt live` and Config Sync. It has the syntax of
// ordering.DependsOnAnnotation without the prefix and the suffix.
const KptDependsOnAnnotation = "config.kubernetes.io/depends-on"

// dependency is one entry of a depends-on annotation.
type dependency struct {
	id       object.ID
	gate     ordering.Gate
	external bool
}

// dependsOn adds the edges that a resource's depends-on annotations declare.
func (d *Declarations) dependsOn(i int, r ordering.Resource) {
	for _, key := range []string{ordering.DependsOnAnnotation, KptDependsOnAnnotation} {
		value, ok := r.Annotations[key]
		if !ok || key == KptDependsOnAnnotation && Emitted(r, "kpt") {
			continue
		}
		entries, err := parseDependencies(value, key == ordering.DependsOnAnnotation)
		if err != nil {
			d.fail(d.Resources[i], "annotation %s: %w", key, err)
			continue
		}
		for _, entry := range entries {
			d.depend(i, key, entry)
		}
	}
}

func (d *Declarations) depend(i int, key string, entry dependency) {
	why := ordering.Reason{Rule: "depends-on", Detail: "annotation " + key + " names " + entry.id.String(), Where: d.Resources[i].Source}
	from, ok := d.ByID[entry.id]
	switch {
	case ok && from == i:
		d.fail(d.Resources[i], "annotation %s: the resource depends on itself: remove the entry", key)
	case ok:
		d.Edges = append(d.Edges, graph.NewEdge(from, i, entry.gate, graph.Hard, why))
	case entry.external, d.ExcludedIDs[entry.id]:
		d.External[i] = append(d.External[i], ordering.Need{ID: entry.id, Gate: entry.gate, Why: why, Hard: true})
	case d.Options.Incomplete:
	default:
		d.fail(d.Resources[i], "annotation %s: %s is not in the stream%s", key, entry.id.Reference(), d.suggestion(i, key, entry.id))
	}
}

// suggestion returns a remedy for a reference to a missing resource.
func (d *Declarations) suggestion(i int, key string, id object.ID) string {
	if why, ok := d.skipped[id]; ok {
		return ": it is left out (" + why.String() + ")"
	}
	if d.suggestions++; d.suggestions <= MaxSuggestions {
		if near, ok := d.Nearest(id, d.Resources[i].ID); ok {
			return "; did you mean " + near.Reference() + "?"
		}
	}
	if key == ordering.DependsOnAnnotation {
		return "; if it is created outside the stream, write external:" + id.Reference()
	}
	return "; if it is created outside the stream, list it in " + ordering.DependsOnAnnotation + " instead, as external:" + id.Reference()
}

// MaxSuggestions limits the number of suggestions, since each one scans the
// whole stream.
const MaxSuggestions = 20

func parseDependencies(value string, ours bool) ([]dependency, error) {
	var out []dependency
	for entry := range strings.SplitSeq(value, ",") {
		d, err := parseDependency(strings.TrimSpace(entry), ours)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(other dependency) bool { return other.id == d.id }) {
			return nil, fmt.Errorf("%s is listed twice", d.id.Reference())
		}
		out = append(out, d)
	}
	return out, nil
}

func parseDependency(entry string, ours bool) (d dependency, err error) {
	rest := entry
	if ours {
		rest, d.external = strings.CutPrefix(rest, "external:")
		reference, gate, has := strings.Cut(rest, "?")
		if name, ok := strings.CutPrefix(gate, "gate="); has && ok {
			if d.gate, err = ordering.ParseGate(name); err != nil {
				return d, fmt.Errorf("%q: %w", entry, err)
			}
		} else if has {
			return d, fmt.Errorf("%q: only gate=ready or gate=applied may follow ?", entry)
		}
		rest = reference
	}
	fields := strings.Split(rest, "/")
	switch {
	case len(fields) == 3:
		d.id = object.ID{Group: fields[0], Kind: fields[1], Name: fields[2]}
	case len(fields) == 5 && fields[1] == "namespaces":
		d.id = object.ID{Group: fields[0], Namespace: fields[2], Kind: fields[3], Name: fields[4]}
	default:
		return d, fmt.Errorf("%q is neither group/Kind/name nor group/namespaces/NAMESPACE/Kind/name (the core group is empty: /Kind/name)", entry)
	}
	if d.id.Kind == "" || d.id.Name == "" {
		return d, fmt.Errorf("%q: kind and name must not be empty", entry)
	}
	return d, nil
}

// CheckDependsOn returns the syntax error in a value of DependsOnAnnotation, or
// nil. It does not look resources up.
func CheckDependsOn(value string) error {
	_, err := parseDependencies(value, true)
	return err
}

// CheckKptDependsOn does the same for KptDependsOnAnnotation, which knows neither
// "external:" nor gates.
func CheckKptDependsOn(value string) error {
	_, err := parseDependencies(value, false)
	return err
}
