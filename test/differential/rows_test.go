package differential

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// rows are the rows of the table "Edits before sending" in docs/apply.md.
type rows map[string]bool

// readRows returns the rows that the page has.
func readRows(t testing.TB) rows {
	t.Helper()
	page, err := os.ReadFile("../../docs/apply.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "Edits before sending\n")
	require.True(t, found, "docs/apply.md has no table of the edits before sending")
	section, _, _ = strings.Cut(section, "\n## ")
	all := rows{}
	for _, name := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
		all[name[1]] = true
	}
	require.NotEmpty(t, all)
	return all
}

// explain returns the row that explains a difference; "" if there is none.
func (r rows) explain(c *chain, d difference) string {
	for _, name := range slices.Sorted(maps.Keys(explanations)) {
		if r[name] && explanations[name](c, d) {
			return name
		}
	}
	return ""
}

// explanations report, for the rows whose edits can make a difference here, whether one
// explains a difference.
var explanations = map[string]func(*chain, difference) bool{
	// An apply owns the fingerprint at least. Of an object without owners, the API server
	// makes its next apply an update "before-first-apply" of all fields.
	"own-marks": func(c *chain, d difference) bool { // or other managers have written some
		return d.what == owned && (strings.HasPrefix(d.path.String(), "before-first-apply ") || c.wasBare() && !strings.HasPrefix(d.path.String(), "applier "))
	},
	"blocking-fields": func(c *chain, d difference) bool {
		return c.wasWritten() && d.onlyKubectlRefuses() && strings.Contains(fmt.Sprint(d.theirs), "is invalid")
	},
	"unchanged": func(c *chain, d difference) bool { return c.same && (d.onlyKubectlRefuses() || d.what != refused) },
	"order-annotations": func(_ *chain, d difference) bool {
		return d.ours == nil && slices.ContainsFunc(stamp.Keys(), func(key string) bool { return key != stamp.LayerAnnotation && d.isAt("metadata", "annotations", key) })
	},
	"illegal-annotations": func(c *chain, d difference) bool {
		return d.onlyKubectlRefuses() && strings.Contains(text(c.wanted), "helm.sh/depends-on/")
	},
	"server-fields": func(c *chain, d difference) bool {
		return slices.ContainsFunc([]string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"}, func(field string) bool {
			_, has := at(c.wanted, path{"metadata", field})
			return has && (d.onlyKubectlRefuses() || d.isAt("metadata", field))
		})
	},
	"status": func(c *chain, d difference) bool {
		return c.wanted["status"] != nil && c.kind() != "Plain" && (d.onlyKubectlRefuses() || d.isAt("status"))
	},
	"controller-annotations": func(c *chain, d difference) bool {
		return d.ours == nil && (d.isAt("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration") ||
			d.isAt("metadata", "annotations", "deployment.kubernetes.io/revision") || d.isAt("metadata", "annotations", "deprecated.daemonset.template.generation"))
	},
	"string-data": func(c *chain, d difference) bool {
		return c.kind() == "Secret" && c.had("stringData") && (d.isAt("data") || d.isAt("stringData") || d.what == refused && c.had("immutable"))
	},
	"refused-nulls": func(c *chain, d difference) bool {
		return d.onlyKubectlRefuses() && !object.IsNative(idOf(c.wanted).Group) && strings.Contains(text(c.wanted), "null")
	},
	"autoscaled-replicas": func(c *chain, d difference) bool { return c.scaled && d.isAt("spec", "replicas") },
	"empty-secret":        func(c *chain, d difference) bool { return c.kind() == "Secret" && c.wasWritten() && d.isAt("data") },
	"ca-bundle": func(c *chain, d difference) bool {
		return c.wasWritten() && (strings.HasSuffix(d.path.String(), "clientConfig.caBundle") || d.what == owned && strings.HasSuffix(d.path.String(), ".clientConfig") || d.isAt("spec", "caBundle"))
	},
	"conversion-service": func(c *chain, d difference) bool {
		service := path{"spec", "conversion", "webhook", "clientConfig", "service"}
		_, has := at(c.wanted, service) // ordapply lets go of it with a write
		return c.kind() == "CustomResourceDefinition" && c.wasWritten() && (d.isAt(service...) || has && d.what == written)
	},
	"injected-config": func(c *chain, d difference) bool {
		return c.kind() == "ConfigMap" && c.wasWritten() && d.isAt("data") && strings.Contains(text(c.wanted), "inject-cabundle")
	},
	"aggregated-rules": func(c *chain, d difference) bool {
		return c.kind() == "ClusterRole" && c.had("aggregationRule") && c.wasWritten() && (d.isAt("rules") || d.onlyKubectlRefuses() && strings.Contains(fmt.Sprint(d.theirs), "rules["))
	},
	"bound-volume": func(c *chain, d difference) bool {
		return c.kind() == "PersistentVolumeClaim" && c.wasWritten() && d.isAt("spec", "volumeName")
	},
}

// isAt reports whether a difference is at or below a field.
func (d difference) isAt(field ...any) bool {
	switch d.what {
	case stored:
		return len(d.path) >= len(field) && slices.Equal(d.path[:len(field)], field)
	case owned:
		_, owner, _ := strings.Cut(d.path.String(), " .")
		name := path(field).String()
		return owner == name || strings.HasPrefix(owner, name+".") || strings.HasPrefix(owner, name+"[")
	}
	return false
}

func (d difference) onlyKubectlRefuses() bool {
	return d.what == refused && d.ours == accepts
}

func (c *chain) kind() string { return idOf(c.wanted).Kind }

// had reports whether a manifest of the chain has a field of the object.
func (c *chain) had(field string) bool {
	return slices.ContainsFunc(append(slices.Clone(c.past), step{manifest: c.wanted}), func(s step) bool { return s.manifest[field] != nil })
}

// wasBare reports whether a manifest of the chain had no fields but its name.
func (c *chain) wasBare() bool {
	return slices.ContainsFunc(c.past, func(s step) bool {
		if s.manifest == nil {
			return false
		}
		for field, value := range s.manifest {
			metadata, _ := value.(map[string]any)
			named := field == "metadata" && len(metadata) <= 2
			if field != "apiVersion" && field != "kind" && !named && value != nil && !isEmpty(value) {
				return false
			}
		}
		return true
	})
}

// isEmpty reports whether a value is an empty list or map, which the API server does not store.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// wasWritten reports whether another manager has written to the object.
func (c *chain) wasWritten() bool {
	return slices.ContainsFunc(c.past, func(s step) bool { return s.write != nil })
}

// Every explanation has its row, so that a renamed or deleted row is noticed.
func TestExplanationsHaveRows(t *testing.T) {
	rows := readRows(t)
	for name := range explanations {
		require.Contains(t, rows, name)
	}
}
