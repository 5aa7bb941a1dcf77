package lint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// CheckKinds checks the kinds that options name: PrerequisiteKinds and
// KindTimeouts. faults are names in the wrong syntax or close to a known kind.
// remarks are about kinds that are neither in the stream, nor in the cluster,
// nor native. served lists the kinds that the cluster serves, as "Kind" or
// "Kind.group"; nil without a cluster.
func CheckKinds(resources []ordering.Resource, options ordering.Options, served []string) (faults []error, remarks []string) {
	known := slices.Sorted(slices.Values(slices.Concat(streamKinds(slices.Concat(resources, options.Excluded)), served, native())))
	check := func(where, kind string) {
		found, fault := checkKind(kind, known)
		switch {
		case fault != nil:
			faults = append(faults, fmt.Errorf("%s: %w", where, fault))
		case !found:
			has := "the stream and Kubernetes have"
			if served != nil {
				has = "the stream and the cluster have"
			}
			remarks = append(remarks, fmt.Sprintf("%s has no effect: %s no kind %s", where, has, kind))
		}
	}
	for _, kind := range options.PrerequisiteKinds {
		check("--prerequisite-kinds: "+kind, kind)
	}
	for _, k := range options.KindTimeouts {
		check("timeouts."+k.Kind, k.Kind)
	}
	return faults, remarks
}

// streamKinds returns the kinds of resources, and the kinds that they define.
func streamKinds(resources []ordering.Resource) []string {
	var kinds []string
	for _, r := range resources {
		kinds = append(kinds, r.GroupKind())
		if r.ID.IsCRD() {
			kind := references.DefinedKind(r.Object)
			kinds = append(kinds, strings.TrimSuffix(kind.Kind+"."+kind.Group, "."))
		}
		for _, kind := range references.SplitList(r.Annotations[ordering.ProvidesAnnotation]) {
			group, name, _ := strings.Cut(kind, "/")
			kinds = append(kinds, strings.TrimSuffix(name+"."+group, "."))
		}
	}
	return kinds
}

// checkKind reports whether a name is a known kind; fault describes an error in
// the name.
func checkKind(written string, known []string) (found bool, fault error) {
	if right := canonicalKind(written); right != written {
		return false, fmt.Errorf("a kind is written Kind or Kind.group: write %s", right)
	}
	if written == "" {
		return false, errors.New("name a kind, such as StorageClass or Issuer.cert-manager.io")
	}
	nearest, least := "", 3
	for _, kind := range known {
		name, _, _ := strings.Cut(kind, ".")
		if written == kind || written == name {
			return true, nil
		}
		if grouped := strings.Contains(written, "."); grouped {
			name = kind
		}
		if letters := misspellingDistance(written, name); letters < least {
			nearest, least = name, letters
		}
	}
	if nearest != "" {
		return false, fmt.Errorf("unknown kind; did you mean %s?", nearest)
	}
	return false, nil
}

// misspellingDistance returns the edit distance between a name and a kind, ignoring
// case; 0 for a plural. It is large for names too short to be a misspelling.
func misspellingDistance(written, kind string) int {
	a, b := strings.ToLower(written), strings.ToLower(kind)
	first, group, _ := strings.Cut(a, ".")
	name, kindGroup, _ := strings.Cut(b, ".")
	if group == kindGroup && (first == name+"s" || first == name+"es" || strings.HasSuffix(name, "y") && first == name[:len(name)-1]+"ies") {
		return 0
	}
	if strings.Contains(a, b) || strings.Contains(b, a) {
		return max(len(a), len(b)) - min(len(a), len(b))
	}
	letters, _ := nearest.Distance(a, b)
	if 4*letters > len(first) {
		return len(a)
	}
	return letters
}

// canonicalKind returns the kind in the notation of options, for one written like
// "storage.k8s.io/v1/StorageClass", "v1/Secret" or
// "StorageClass.v1.storage.k8s.io".
func canonicalKind(written string) string {
	isVersion := regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`).MatchString
	written = strings.TrimSpace(written)
	if parts := strings.Split(written, "/"); len(parts) > 1 {
		kind, groups := parts[len(parts)-1], parts[:len(parts)-1]
		groups = slices.DeleteFunc(groups, func(part string) bool { return part == "" || isVersion(part) })
		return strings.Join(append([]string{kind}, groups...), ".")
	}
	parts := strings.Split(written, ".")
	if len(parts) > 1 && isVersion(parts[1]) {
		parts = slices.Delete(parts, 1, 2)
	}
	return strings.TrimSuffix(strings.Join(parts, "."), ".")
}
