package units

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// name names the units: after their layer, without the order's name if all layers have the
// same. A renamed unit is a new unit to an engine, so that names have no number but where a
// layer needs several units.
func (c *cutter) name() {
	common := c.commonOrder()
	taken := map[string]int{}
	for u := range c.units {
		unit := &c.units[u]
		layer := c.places[unit.Steps[0]].layer
		if layer == "" {
			layer = "resources"
		}
		base := Label(strings.TrimPrefix(layer, common))
		taken[base]++
		unit.Name = base
		for n := taken[base]; n > 1; n++ {
			unit.Name = fmt.Sprintf("%s-%d", base, n)
			if taken[unit.Name] == 0 {
				taken[unit.Name]++
				break
			}
		}
	}
}

// commonOrder returns the name of the order that all layers with one have, with its
// slash; "" if they are of several.
func (c *cutter) commonOrder() string {
	common := ""
	for _, p := range c.places {
		order, _, ok := strings.Cut(p.layer, "/")
		switch {
		case !ok:
		case common != "" && common != order+"/":
			return ""
		default:
			common = order + "/"
		}
	}
	return common
}

// Label returns a text as a DNS label (RFC 1123), of at most 40 characters: "Sync wave
// -1" becomes "sync-wave-1".
func Label(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	label := strings.Join(words, "-")
	if len(label) > 40 {
		label = strings.TrimRight(label[:40], "-")
	}
	if label == "" {
		return "unnamed"
	}
	return label
}

// joined returns the namespace and the name of a resource for the name of a file.
func joined(id object.ID) string {
	if id.Namespace == "" {
		return fileName(id.Name)
	}
	return fileName(id.Namespace) + "-" + fileName(id.Name)
}

// fileName replaces characters that suit a resource's name but not a file's, such as the
// colon of system:auth-delegator.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
}

// digest returns some letters and digits that distinguish a resource from similarly named
// ones.
func digest(id object.ID) string {
	sum := sha256.Sum256([]byte(id.GroupKind() + "/" + id.Namespace + "/" + id.Name))
	return hex.EncodeToString(sum[:4])
}
