package architecture

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// matchingLines returns how many lines of a text match.
func matchingLines(pattern *regexp.Regexp, text string) int {
	n := 0
	for {
		at := pattern.FindStringIndex(text)
		if at == nil {
			return n
		}
		n++
		_, text, _ = strings.Cut(text[at[1]:], "\n")
	}
}

// grep is a term of the field, the obvious search for it, and a file in which a reader
// expects to land.
type grep struct{ term, pattern, file string }

func greps() []grep {
	return []grep{
		{"dry run", `dry.?run`, "preview/resource.go"},
		{"field manager", `field.?manager`, "applyset/owner.go"},
		{"finalizer", `finalizer`, "internal/diagnose/finalizers.go"},
		{"retry", `retry`, "kube/retry.go"},
		{"backoff", `backoff`, "internal/kubeerr/retry.go"},
		{"prune", `prune`, "state/prune.go"},
		{"terminating", `terminating`, "internal/kubeerr/classify.go"},
		{"tombstone", `tombstone`, "kube/watch.go"},
		{"conflict", `conflict`, "internal/kubeerr/conflicts.go"},
		{"lease", `\blease\b`, "internal/lease/renewer.go"},
		{"CRD established", `established`, "internal/kinds/waiter.go"},
		{"readiness", `readiness`, "internal/readiness/readiness.go"},
		{"event stream", `event stream|JSON lines`, "internal/events/log.go"},
		{"server-side apply", `server.?side.?apply`, "kube/cluster.go"},
		{"JSONPath", `jsonpath`, "internal/jsonpath/path.go"},
		{"watch", `\bwatch\b`, "kube/watch.go"},
		{"informer, reflector", `informer|reflector`, "kube/watch.go"},
		{"kubeconfig", `kubeconfig`, "internal/connect/kubeconfig.go"},
		{"discovery", `discovery`, "kube/kubernetes.go"},
		{"rollback", `rollback`, "cmd/ordapply/rollback.go"},
		{"revision, history", `revision`, "internal/history/history.go"},
		{"owner reference", `owner.?reference`, "applyset/inherit.go"},
		{"admission webhook", `webhook`, "internal/references/webhookrefs.go"},
		{"cycle", `\bcycle`, "internal/dependencies/cycle.go"},
		{"topological order", `topological`, "internal/graph/resolve.go"},
		{"diagnostics", `diagnos`, "internal/diagnose/diagnoser.go"},
		{"access review", `access.?review`, "kube/review.go"},
		{"RBAC", `rbac`, "internal/rbac/rbac.go"},
		{"exit code", `exit.?code`, "internal/exit/exit.go"},
		{"metrics", `metrics`, "internal/metrics/metrics.go"},
		{"redaction", `redact`, "internal/redact/error.go"},
		{"Helm hook", `hook`, "internal/hookrun/hookrun.go"},
		{"protection from pruning", `protection`, "removal/contents.go"},
		{"inventory", `inventory`, "applyset/doc.go"},
		{"apply set", `apply.?set`, "cmd/ordapply/applyset.go"},
		{"immutable field", `immutable`, "internal/invalid/immutable.go"},
	}
}

// The obvious search for a term, `grep -ric TERM` over Go files without tests, finds the
// file where a reader expects it among the three with most matching lines. With -v the
// table is printed, with the file that has most.
func TestGreps(t *testing.T) {
	texts := map[string]string{}
	for _, s := range sources(t) {
		if !s.test && isProduct(s.pkg) {
			texts[s.path] = strings.ToLower(s.text)
		}
	}
	for _, g := range greps() {
		pattern := regexp.MustCompile(g.pattern)
		found := map[string]int{}
		var files []string
		for path, text := range texts {
			if found[path] = matchingLines(pattern, text); found[path] > 0 {
				files = append(files, path)
			}
		}
		slices.Sort(files)
		slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(found[b], found[a]) })
		if assert.NotEmpty(t, files, "%s: nothing matches %s", g.term, g.pattern) {
			t.Logf("%-24s %-28s %s", g.term, g.pattern, files[0])
			assert.Contains(t, files[:min(3, len(files))], g.file, "%s: grep %s finds other files", g.term, g.pattern)
		}
	}
}
