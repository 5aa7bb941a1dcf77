package ordering

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Options name kinds as "Kind" of any group, or "Kind.group". A name that means
// nothing has no effect, which nobody sees: it is checked against the kinds that
// there are.

// CheckKinds looks at the kinds that options name. faults are names that are not
// written as one, or surely mean another kind; remarks are about kinds that neither
// the stream nor the cluster has, and that are no native ones. served are the kinds
// that the cluster serves; nil without one.
func CheckKinds(resources []Resource, options Options, served []string) (faults []error, remarks []string) {
	known := slices.Concat(streamKinds(slices.Concat(resources, options.Elsewhere)), served, NativeKinds())
	slices.Sort(known)
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

// streamKinds are the kinds of resources, and those that they define.
func streamKinds(resources []Resource) []string {
	seen := map[string]bool{}
	var kinds []string
	add := func(kind string) {
		if !seen[kind] {
			seen[kind] = true
			kinds = append(kinds, kind)
		}
	}
	for _, r := range resources {
		add(r.GroupKind())
		if isCRD(r.ID) {
			kind := definedKind(r.Object)
			add(strings.TrimSuffix(kind.kind+"."+kind.group, "."))
		}
		for _, kind := range splitList(r.Annotations[ProvidesAnnotation]) {
			group, name, _ := strings.Cut(kind, "/")
			add(strings.TrimSuffix(name+"."+group, "."))
		}
	}
	return kinds
}

// checkKind reports whether a name is one of the known kinds; fault is what is wrong
// with it.
func checkKind(written string, known []string) (found bool, fault error) {
	if right := inNotation(written); right != written {
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
		if letters := misspelling(written, name); letters < least {
			nearest, least = name, letters
		}
	}
	if nearest != "" {
		return false, fmt.Errorf("no kind is called that; did you mean %s?", nearest)
	}
	return false, nil
}

// misspelling counts the letters in which a name differs from that of a kind, whatever
// their case; a plural differs by none. It is large for names that are too short to
// be one another.
func misspelling(written, kind string) int {
	a, b := strings.ToLower(written), strings.ToLower(kind)
	first, group, _ := strings.Cut(a, ".")
	name, kindGroup, _ := strings.Cut(b, ".")
	if group == kindGroup && (first == name+"s" || first == name+"es" || strings.HasSuffix(name, "y") && first == name[:len(name)-1]+"ies") {
		return 0
	}
	if strings.Contains(a, b) || strings.Contains(b, a) {
		return max(len(a), len(b)) - min(len(a), len(b))
	}
	letters, _ := distance(a, b)
	if 4*letters > len(first) {
		return len(a)
	}
	return letters
}

// inNotation is a kind as options name it, for one that is written in another way:
// "storage.k8s.io/v1/StorageClass", "v1/Secret", "StorageClass.v1.storage.k8s.io".
func inNotation(written string) string {
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
