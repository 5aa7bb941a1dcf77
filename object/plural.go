package object

import "strings"

// GuessPlural returns the resource name that a kind most likely has, by the rules of
// English: "ingresses" for Ingress. Where its CRD or discovery is known, use their name.
func GuessPlural(kind string) string {
	name := strings.ToLower(kind)
	ends := func(suffixes ...string) bool {
		for _, suffix := range suffixes {
			if strings.HasSuffix(name, suffix) {
				return true
			}
		}
		return false
	}
	switch {
	case name == "endpoints":
		return name
	case ends("ay", "ey", "iy", "oy", "uy"):
		return name + "s"
	case ends("y"):
		return strings.TrimSuffix(name, "y") + "ies"
	case ends("s", "x", "z", "ch", "sh"):
		return name + "es"
	}
	return name + "s"
}
