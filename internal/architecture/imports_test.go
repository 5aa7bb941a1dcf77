// Package architecture tests the structure of the code: which package may
// import which, what only one place may do, and that the pages about the code name
// what exists.
package architecture

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/ordapply/ordapply/"

// tier is a row of packages in the picture of ARCHITECTURE.md. A package imports only
// packages of later tiers.
type tier struct {
	title    string
	packages []pkgRow
}

// pkgRow is a package: what it is for, and exactly the packages of this module that
// its code imports, tests left out.
type pkgRow struct {
	path, purpose string
	uses          []string
}

// importTable is the import table of the module. The picture of ARCHITECTURE.md is
// made from it: `make golden` updates the page.
func importTable() []tier {
	return []tier{
		{title: "programs: flags, streams, exit codes", packages: []pkgRow{
			{"cmd/ordapply", "the applier, one file for each verb", []string{"apply", "applyset", "fn", "health", "internal/abortable", "internal/access", "internal/asyncwriter", "internal/completion", "internal/connect", "internal/consolidate", "internal/drawing", "internal/events", "internal/exit", "internal/exporting", "internal/external", "internal/fleetrun", "internal/healthfiles", "internal/help", "internal/hookrun", "internal/hooks", "internal/htmlreport", "internal/initorder", "internal/limits", "internal/nearest", "internal/orderfile", "internal/outfile", "internal/plain", "internal/plandiff", "internal/planning", "internal/planprint", "internal/preflight", "internal/rbac", "internal/report", "internal/setflags", "internal/setstatus", "internal/settings", "internal/source", "internal/svg", "internal/usage", "internal/verbose", "internal/version", "internal/vet", "kube", "manifest", "object", "ordering", "preview", "sortorder", "state"}},
			{"examples/library", "applies a stream, in 30 lines", []string{"apply", "kube", "manifest", "ordering"}},
			{"cmd/sortorder", "the KRM function", []string{"fn", "internal/plain", "internal/version", "sortorder"}},
		}},
		{title: "several clusters", packages: []pkgRow{
			{"internal/fleetrun", "runs a command on the clusters of a fleet", []string{"internal/abortable", "internal/connect", "internal/events", "internal/exit", "internal/fleet", "internal/htmlreport", "internal/liveview", "internal/nearest", "internal/outfile", "internal/parallel", "internal/plain", "internal/plandiff", "internal/report", "internal/setstatus", "internal/settings", "internal/usage"}},
		}},
		{title: "verbs", packages: []pkgRow{
			{"internal/completion", "what a shell completes", []string{"internal/connect", "internal/plain", "internal/setflags", "internal/setlist", "kube"}},
			{"internal/exporting", "the verb export", []string{"apply", "internal/abortable", "internal/export", "internal/export/argocd", "internal/export/drift", "internal/export/flux", "internal/fleet", "internal/healthfiles", "internal/orderfile", "internal/plain", "internal/planning", "internal/usage"}},
			{"internal/plandiff", "what an apply would change: plan, diff, plan files", []string{"apply", "health", "internal/abortable", "internal/asyncwriter", "internal/connect", "internal/external", "internal/fielddiff", "internal/outfile", "internal/plain", "internal/planning", "internal/planprint", "internal/setflags", "internal/source", "internal/terminal", "internal/usage", "internal/verbose", "kube", "object", "ordering", "preview"}},
			{"internal/rbac", "the Roles that a run needs", []string{"apply", "applyset", "internal/access", "internal/connect", "internal/healthfiles", "internal/hookrun", "internal/hooks", "internal/plain", "internal/planning", "internal/setflags", "internal/source", "internal/usage", "kube", "object", "ordering", "state"}},
			{"internal/setstatus", "the health of an apply set, once or as it changes", []string{"apply", "health", "internal/asyncwriter", "internal/connect", "internal/exit", "internal/fielddiff", "internal/healthfiles", "internal/orderfile", "internal/plain", "internal/redact", "internal/setflags", "internal/setlist", "internal/terminal", "internal/usage", "internal/yamlnode", "kube", "object", "ordering", "state"}},
		}},
		{title: "reports of a run", packages: []pkgRow{
			{"internal/report", "a run as lines, live view, results, metrics and page", []string{"apply", "internal/abortable", "internal/asyncwriter", "internal/connect", "internal/diagnose", "internal/events", "internal/exit", "internal/htmlreport", "internal/kubeerr", "internal/liveview", "internal/metrics", "internal/outfile", "internal/plain", "internal/settings", "internal/terminal", "internal/tracing", "internal/track", "internal/usage", "internal/verbose", "kube", "object", "ordering"}},
		}},
		{title: "the page and the trace of a run", packages: []pkgRow{
			{"internal/tracing", "a run as an OpenTelemetry trace", []string{"applyset", "internal/track", "internal/version", "kube", "object", "ordering", "progress"}},
			{"internal/htmlreport", "a run as an HTML page", []string{"internal/events", "object"}},
		}},
		{title: "trees of other engines", packages: []pkgRow{
			{"internal/export/argocd", "a stream as Argo CD's Applications", []string{"applyset", "health", "internal/cellua", "internal/export", "internal/fleet", "internal/ignorefields", "internal/plain", "internal/toolkeys", "object"}},
			{"internal/export/drift", "where an exported tree no longer matches the order", []string{"internal/fielddiff", "internal/plain", "internal/toolkeys"}},
			{"internal/export/flux", "a stream as Flux's Kustomizations", []string{"applyset", "health", "internal/celcondition", "internal/export", "internal/ignorefields", "internal/plain", "object"}},
		}},
		{title: "units of an export", packages: []pkgRow{
			{"internal/export", "splits a plan into units that an engine reconciles in order", []string{"health", "internal/abortable", "internal/graph", "internal/mutation", "internal/outfile", "internal/plain", "internal/yamlnode", "internal/yamltext", "object", "ordering"}},
		}},
		{title: "frame of a command", packages: []pkgRow{
			{"internal/exit", "exit codes, and the outcome of a run that is reported", []string{"apply", "internal/abortable", "internal/events", "internal/usage", "state"}},
		}},
		{title: "from flags to a plan", packages: []pkgRow{
			{"internal/planning", "the stream and the plan that flags ask for", []string{"apply", "fn", "internal/annotations", "internal/celcondition", "internal/connect", "internal/declared", "internal/hooks", "internal/kindnames", "internal/kinds", "internal/mutation", "internal/orderfile", "internal/plain", "internal/settings", "internal/source", "internal/stamp", "internal/usage", "internal/vet", "internal/yamlnode", "internal/yamltext", "kube", "object", "ordering"}},
		}},
		{title: "manifests", packages: []pkgRow{
			{"internal/source", "reads manifests: files, folders, URLs, kustomizations", []string{"apply", "fn", "internal/abortable", "internal/activity", "internal/ignorefields", "internal/limits", "internal/orderfile", "internal/plain", "internal/stamp", "internal/usage", "internal/verbose", "internal/yamltext", "manifest", "object"}},
		}},
		{title: "apply sets that flags name", packages: []pkgRow{
			{"internal/setflags", "the apply set of a command", []string{"apply", "internal/abortable", "internal/connect", "internal/hookrun", "internal/hooks", "internal/kubeerr", "internal/liveset", "internal/plain", "internal/usage", "object", "ordering", "preview", "state"}},
			{"internal/setlist", "the apply sets of a cluster", []string{"applyset", "internal/history", "internal/liveset", "kube", "object"}},
		}},
		{title: "what flags name", packages: []pkgRow{
			{"internal/healthfiles", "files with health rules", []string{"health", "internal/abortable", "internal/usage"}},
			{"internal/connect", "the cluster that kubectl would use", []string{"apply", "internal/abortable", "internal/access", "internal/activity", "internal/kubeerr", "internal/plain", "internal/verbose", "internal/version", "kube"}},
			{"internal/orderfile", "the files that order a stream: SortOrder, stacks, charts", []string{"apply", "health", "internal/abortable", "internal/ignorefields", "internal/limits", "internal/yamltext", "object", "ordering", "sortorder"}},
			{"internal/help", "the help of commands", []string{"internal/nearest", "internal/plain", "internal/usage"}},
			{"internal/settings", "values of flags: command line, environment, file", []string{"internal/abortable", "internal/nearest", "internal/plain", "internal/usage", "internal/verbose"}},
		}},
		{title: "between runs", packages: []pkgRow{
			{"state", "apply sets: members, lock, revisions, prune, deletion, rollback", []string{"apply", "applyset", "internal/access", "internal/activity", "internal/declared", "internal/history", "internal/hookrun", "internal/hooks", "internal/inventory", "internal/kubeerr", "internal/lease", "internal/liveset", "internal/ownership", "internal/plain", "internal/redact", "internal/track", "kube", "object", "ordering", "preview", "progress"}},
		}},
		{title: "around a run", packages: []pkgRow{
			{"internal/hookrun", "runs hooks before, within and after a plan", []string{"apply", "applyset", "health", "internal/access", "internal/diagnose", "internal/hooks", "internal/inventory", "internal/kubeerr", "internal/recreation", "kube", "object", "ordering", "preview", "progress"}},
			{"internal/abortable", "runs what may block, until --timeout or an interrupt", []string{"apply", "internal/activity", "internal/limits", "internal/plain"}},
			{"internal/verbose", "the log of -v", []string{"internal/plain", "internal/usage", "kube", "ordering"}},
			{"internal/events", "a run as JSON lines", []string{"internal/plain", "internal/track", "object", "progress"}},
			{"internal/liveview", "a run as frames for a terminal", []string{"internal/plain", "internal/terminal", "internal/track", "object", "ordering", "progress"}},
			{"internal/metrics", "a run as Prometheus metrics", []string{"applyset", "internal/track", "kube", "object", "ordering", "progress"}},
		}},
		{title: "for programs on another SDK", packages: []pkgRow{
			{"fn/kptsdk", "fn for programs on kpt's SDK", []string{"fn", "internal/yamledit", "internal/yamlnode"}},
		}},
		{title: "engines", packages: []pkgRow{
			{"apply", "applies and deletes on a cluster: waves, waits, retries", []string{"applyset", "health", "internal/access", "internal/desired", "internal/diagnose", "internal/endpoints", "internal/external", "internal/filling", "internal/gates", "internal/invalid", "internal/kinds", "internal/kubeerr", "internal/layerclock", "internal/loop", "internal/mutation", "internal/ownership", "internal/plain", "internal/podwatch", "internal/preflight", "internal/readiness", "internal/recreation", "internal/redact", "internal/sending", "internal/snapshot", "internal/stillness", "internal/stream", "internal/watching", "kube", "manifest", "object", "ordering", "preview", "progress", "removal"}},
			{"fn", "applies a SortOrder to a ResourceList or a stream, byte for byte", []string{"internal/annotations", "internal/emit", "internal/plain", "internal/stamp", "internal/textorder", "internal/toolkeys", "internal/yamledit", "internal/yamlnode", "internal/yamltext", "object", "ordering", "sortorder"}},
		}},
		{title: "before a run", packages: []pkgRow{
			{"internal/preflight", "finds errors that are certain before the first write", []string{"internal/kinds", "internal/nativecheck", "internal/ownership", "internal/snapshot", "internal/stream", "kube", "object", "ordering", "progress"}},
		}},
		{title: "deletions, previews, requests", packages: []pkgRow{
			{"removal", "deletes live objects wave by wave", []string{"applyset", "internal/contents", "internal/diagnose", "internal/gates", "internal/kubeerr", "internal/loop", "internal/parallel", "internal/plain", "internal/redact", "internal/watching", "kube", "object", "ordering", "progress"}},
			{"preview", "what a run would do, determined without writing", []string{"applyset", "internal/desired", "internal/fieldset", "internal/filling", "internal/ignorefields", "internal/invalid", "internal/kapplabels", "internal/kinds", "internal/kubeerr", "internal/mutation", "internal/nativecheck", "internal/ownership", "internal/parallel", "internal/recreation", "internal/redact", "internal/snapshot", "kube", "object", "ordering", "progress"}},
			{"internal/sending", "sends PATCHes, and the writes that they require first", []string{"internal/desired", "internal/invalid", "internal/kapplabels", "internal/kubeerr", "internal/loop", "internal/ownership", "internal/readiness", "internal/recreation", "kube"}},
			{"internal/stream", "resolves the namespaces of manifests, and rejects duplicates", []string{"internal/desired", "internal/hooks", "internal/plain", "internal/vet", "kube", "manifest", "object", "ordering"}},
		}},
		{title: "what a run may delete to create it again", packages: []pkgRow{
			{"internal/recreation", "proves that a live object can be deleted and created again", []string{"applyset", "internal/contents", "internal/desired", "internal/fieldset", "internal/invalid", "internal/kubeerr", "internal/ownership", "internal/redact", "kube", "object", "progress"}},
		}},
		{title: "what a run waits for", packages: []pkgRow{
			{"internal/watching", "reports the changes of the objects that a run waits for", []string{"internal/loop", "kube", "object"}},
			{"internal/layerclock", "measures the timeouts of layers", []string{"internal/loop", "ordering"}},
			{"internal/kinds", "waits for kinds that are not served yet, and says why they are not", []string{"internal/kubeerr", "internal/loop", "internal/nearest", "kube", "object", "progress"}},
			{"internal/endpoints", "waits for ready endpoints of Services", []string{"internal/kubeerr", "internal/loop", "kube", "object"}},
			{"internal/external", "waits for objects outside the stream", []string{"health", "internal/kubeerr", "internal/loop", "internal/parallel", "internal/readiness", "kube", "object", "ordering"}},
			{"internal/podwatch", "reports what keeps Pods from starting, during a run", []string{"internal/diagnose", "internal/loop", "internal/plain", "internal/redact", "internal/statusreader", "internal/stillness", "kube", "object"}},
		}},
		{title: "diagnosis and permissions", packages: []pkgRow{
			{"internal/access", "the permissions that a run needs, and whether it has them", []string{"health", "internal/ignorefields", "internal/mutation", "internal/parallel", "kube", "object", "ordering"}},
			{"internal/diagnose", "why a resource is not ready, or not deleted", []string{"internal/contents", "internal/kubeerr", "internal/plain", "internal/redact", "internal/statusreader", "kube", "object", "progress"}},
		}},
		{title: "live objects and their manifests", packages: []pkgRow{
			{"internal/invalid", "what a PATCH that was rejected as invalid needs", []string{"applyset", "internal/fieldset", "internal/kubeerr", "internal/ownership", "internal/redact", "kube", "progress"}},
			{"internal/snapshot", "reads live objects, and proves which are unchanged", []string{"applyset", "health", "internal/activity", "internal/crdcheck", "internal/desired", "internal/kubeerr", "internal/loop", "internal/mutation", "internal/ownership", "internal/parallel", "internal/references", "kube", "object", "ordering"}},
			{"internal/readiness", "assesses applied objects, as far as their status can be trusted yet", []string{"health", "internal/loop", "internal/statusreader", "kube", "object"}},
			{"internal/filling", "reads the values that manifests take from live objects", []string{"internal/kubeerr", "internal/mutation", "internal/redact", "kube", "object"}},
		}},
		{title: "apply sets", packages: []pkgRow{
			{"internal/liveset", "an apply set as it is on a cluster", []string{"applyset", "internal/activity", "internal/history", "internal/inventory", "internal/parallel", "internal/plain", "kube", "object"}},
		}},
		{title: "around the client", packages: []pkgRow{
			{"internal/loop", "the event loop that an apply and a deletion share", []string{"applyset", "internal/kubeerr", "kube", "object", "progress"}},
			{"internal/desired", "the object that is sent for a manifest", []string{"applyset", "internal/declared", "internal/fieldset", "internal/ignorefields", "internal/kapplabels", "internal/kubeerr", "internal/stamp", "kube", "object"}},
			{"internal/lease", "the lock of an apply set", []string{"applyset", "internal/activity", "internal/kubeerr", "internal/plain", "kube", "object"}},
			{"internal/ownership", "which live objects a run may write, by apply set and field manager", []string{"applyset", "internal/fieldset", "internal/kapplabels", "internal/kubeerr", "internal/redact", "kube", "object", "progress"}},
			{"internal/inventory", "what other tools recorded about the objects that they applied", []string{"applyset", "internal/limits", "internal/plain", "kube", "object"}},
			{"internal/history", "the revisions of an apply set, stored in Secrets", []string{"applyset", "internal/hooks", "internal/limits", "internal/plain", "internal/track", "kube", "object", "ordering"}},
			{"internal/contents", "what else the deletion of a Namespace or a CRD would delete", []string{"applyset", "internal/kubeerr", "internal/parallel", "kube", "object"}},
		}},
		{title: "what fn writes", packages: []pkgRow{
			{"internal/emit", "writes an order in the annotations of other tools", []string{"internal/annotations", "internal/stamp", "internal/textorder", "internal/toolkeys", "object", "ordering"}},
			{"internal/yamledit", "changes annotations and keeps every other byte", []string{"internal/annotations", "internal/limits", "internal/plain", "internal/yamlnode", "internal/yamltext", "object", "ordering"}},
		}},
		{title: "where resources stand in the text", packages: []pkgRow{
			{"internal/textorder", "layers as blocks, and what goes before its dependents", []string{"internal/annotations", "internal/stamp", "object", "ordering", "sortorder"}},
		}},
		{title: "client of the API server", packages: []pkgRow{
			{"internal/kapplabels", "keeps kapp's labels on the workloads that it created", nil},
			{"internal/fieldset", "changes values by the field paths of managedFields", []string{"applyset"}},
			{"kube", "requests, discovery, watches, the fence of a lock", []string{"applyset", "internal/activity", "internal/kubeerr", "internal/statusreader", "object"}},
		}},
		{title: "the state of a run", packages: []pkgRow{
			{"internal/track", "follows a run: states and times of resources and waves", []string{"object", "ordering", "progress"}},
		}},
		{title: "reports", packages: []pkgRow{
			{"progress", "states, events, results and errors of a run", []string{"health", "internal/kubeerr", "internal/plain", "object"}},
		}},
		{title: "readers and checks", packages: []pkgRow{
			{"internal/annotations", "known ordapply.dev/ keys and their values", []string{"health", "internal/declared", "internal/ignorefields", "internal/nearest", "internal/plain", "internal/references", "internal/stamp", "internal/toolkeys", "object"}},
			{"internal/hooks", "which objects are hooks of Helm or Argo CD, and their order", []string{"internal/declared", "internal/nearest", "internal/references", "object", "ordering", "sortorder"}},
			{"internal/kubeerr", "classifies errors of an API server, and says what to do", []string{"applyset", "internal/ignorefields", "internal/redact", "internal/usage", "object"}},
			{"manifest", "reads streams of manifests, with the position of each object", []string{"internal/jsonstream", "internal/limits", "internal/redact", "internal/yamltext"}},
			{"internal/yamlnode", "manifests as YAML nodes, printed only as what parses back", []string{"internal/jsonstream", "internal/yamltext", "object"}},
			{"internal/svg", "draws a plan", []string{"internal/drawing", "ordering"}},
		}},
		{title: "about plans", packages: []pkgRow{
			{"internal/gates", "when a step may start: what it waits for has passed its gates", []string{"ordering"}},
			{"internal/vet", "what is wrong or doubtful in a stream", []string{"internal/crdcheck", "internal/declared", "internal/dependencies", "internal/graph", "internal/nativecheck", "internal/nearest", "internal/plain", "internal/references", "object", "ordering"}},
			{"internal/consolidate", "renumbers sync waves, so that they merge where no edge connects them", []string{"internal/declared", "internal/dependencies", "internal/plain", "internal/references", "object", "ordering"}},
			{"internal/initorder", "proposes a first SortOrder for a stream", []string{"internal/declared", "internal/dependencies", "internal/graph", "internal/plain", "internal/references", "internal/stamp", "object"}},
			{"internal/drawing", "a plan as boxes and arrows, in DOT and Mermaid", []string{"internal/graph", "internal/plain", "object", "ordering"}},
			{"internal/planprint", "a plan as JSON, and one resource of it in words", []string{"internal/graph", "internal/plain", "object", "ordering"}},
			{"internal/kindnames", "the kinds that options name, checked for misspellings", []string{"internal/nearest", "internal/references", "ordering"}},
		}},
		{title: "about the program", packages: []pkgRow{
			{"internal/version", "the version of a program", []string{"internal/plain"}},
		}},
		{title: "decisions: pure, without I/O, clock, goroutine or client", packages: []pkgRow{
			{"ordering", "stream in, plan out: edges, waves, reasons", []string{"internal/crdcheck", "internal/declared", "internal/dependencies", "internal/graph", "internal/plain", "internal/references", "internal/stamp", "object"}},
			{"health", "live object in, verdict out", []string{"internal/celcondition", "internal/jsonpath", "internal/limits", "internal/statusreader", "internal/yamltext", "object"}},
			{"sortorder", "selectors and kinds in, layer and rank out", []string{"internal/nearest", "internal/toolkeys", "internal/yamltext", "object"}},
			{"applyset", "ownership: member, unchanged, to be pruned (KEP-3659)", []string{"internal/ignorefields", "object"}},
		}},
		{title: "edges", packages: []pkgRow{
			{"internal/dependencies", "the edges of a stream that hold together, declared and inferred", []string{"internal/declared", "internal/graph", "internal/plain", "internal/references", "object"}},
		}},
		{title: "what orders a stream", packages: []pkgRow{
			{"internal/declared", "the order that authors declared: annotations, stamps, frames, stacks", []string{"internal/graph", "internal/mutation", "internal/nearest", "internal/plain", "internal/references", "internal/stamp", "object"}},
		}},
		{title: "stamps and CRDs", packages: []pkgRow{
			{"internal/crdcheck", "custom resources that the stream's own CRDs do not serve, or reject", []string{"internal/mutation", "internal/nearest", "internal/plain", "internal/references", "object"}},
			{"internal/nativecheck", "what the API server certainly rejects in built-in kinds", []string{"internal/mutation", "internal/references", "object"}},
			{"internal/stamp", "a SortOrder's decision about a resource as annotations", []string{"internal/graph", "internal/references"}},
		}},
		{title: "fleets", packages: []pkgRow{
			{"internal/fleet", "clusters in cohorts, and what may run on them when", []string{"internal/nearest", "internal/parallel", "internal/plain", "internal/yamltext"}},
		}},
		{title: "inside planning", packages: []pkgRow{
			{"internal/references", "which resource needs which, from their manifests", []string{"internal/graph", "internal/nearest", "object"}},
		}},
		{title: "inside decisions", packages: []pkgRow{
			{"internal/cellua", "conditions in CEL as health checks in Lua", []string{"internal/celcondition"}},
			{"internal/graph", "what waits for what: ranks, cycles, contradicting edges", nil},
			{"internal/nearest", "the nearest name to a misspelled one", []string{"internal/limits", "object"}},
		}},
		{title: "text and conditions, within limits", packages: []pkgRow{
			{"internal/celcondition", "compiles and evaluates conditions in CEL", []string{"internal/limits"}},
			{"internal/mutation", "values that a manifest takes from other objects", []string{"object"}},
			{"internal/jsonpath", "kubectl's JSONPath, and comparisons of its values", []string{"internal/limits"}},
			{"internal/yamltext", "converts text from editors and shells to UTF-8", []string{"internal/limits"}},
		}},
		{title: "leaves", packages: []pkgRow{
			{"object", "ID and Meta; imports only the standard library", nil},
			{"internal/activity", "what a command is waiting for, as messages report it", nil},
			{"internal/parallel", "runs functions concurrently, up to a limit", nil},
			{"internal/fielddiff", "compares two objects field by field", nil},
			{"internal/jsonstream", "reads consecutive JSON values", nil},
			{"internal/limits", "bounds on what input can make the programs compute", nil},
			{"internal/outfile", "writes the files that flags name", nil},
			{"internal/asyncwriter", "an asynchronous writer that slow readers do not block", nil},
			{"internal/ignorefields", "the fields that a manifest leaves to other managers", nil},
			{"internal/plain", "prints text from elsewhere without control characters", nil},
			{"internal/redact", "hides the values of Secrets in texts", nil},
			{"internal/stillness", "tells for how long nothing has moved", nil},
			{"internal/statusreader", "interprets the status of unknown kinds", nil},
			{"internal/terminal", "draws permanent lines above a frame", nil},
			{"internal/usage", "errors in a command line", nil},
			{"internal/toolkeys", "annotations in which other tools read an order", nil},
		}},
		{title: "commands for tests and measurements", packages: []pkgRow{
			{"internal/test/demo", "make demo", []string{"internal/test/auditlog", "internal/test/observer", "internal/test/testcluster", "object"}},
			{"internal/test/bench", "make bench", []string{"internal/test/auditlog", "internal/test/corpora", "internal/test/observer", "internal/test/testcluster"}},
			{"internal/test/bench/bare", "the baseline of make bench", nil},
			{"internal/test/firsttry", "make first-try", []string{"internal/events", "internal/test/auditlog", "internal/test/corpora", "internal/test/standin", "internal/test/testcluster", "internal/test/unkind", "manifest", "object"}},
			{"internal/test/peers/orderbench", "make bench-ordering", []string{"apply", "internal/test/bigstream", "ordering"}},
			{"internal/test/peers/fnbench", "make bench-fn", []string{"fn", "internal/test/corpora"}},
			{"internal/test/peers/kyamlnoop", "a function that does nothing, on kyaml", nil},
			{"internal/test/peers/sdknoop", "the same on kpt's SDK", nil},
		}},
		{title: "tests of the whole", packages: []pkgRow{
			{"internal/architecture", "imports, sizes, this page", nil},
			{"internal/test/cases", "the cases of testdata", nil},
			{"internal/test/differential", "what is stored compared with kubectl's", nil},
			{"internal/test/helmreferee", "hooks compared with Helm's own", nil},
			{"internal/test/unkind", "programs that wait for more than their start, and their first tries", []string{"internal/test/standin", "internal/test/testcluster"}},
			{"internal/readme", "the commands of README and docs", nil},
		}},
		{title: "test support", packages: []pkgRow{
			{"internal/test/memcluster", "a cluster in memory, for the order and time of requests", []string{"applyset", "kube", "object"}},
			{"internal/test/observer", "a watch with its own readiness rules", []string{"internal/test/auditlog"}},
			{"internal/test/recorder", "a proxy that records requests and injects faults", nil},
			{"internal/test/standin", "answers for the programs in Pods", nil},
			{"internal/test/testcluster", "a control plane for one test or many", nil},
			{"internal/test/vt", "emulates a terminal", nil},
			{"internal/test/plancase", "reads and generates streams with options for tests of plans", []string{"internal/stamp", "internal/test/bigstream", "object", "ordering"}},
		}},
		{title: "test support: leaves", packages: []pkgRow{
			{"internal/test/auditlog", "reads an API server's audit log", nil},
			{"internal/test/corpora", "the folder of real streams, which ORDAPPLY_CORPORA names", nil},
			{"internal/test/bigstream", "generates streams of any size", nil},
			{"internal/test/smallmemory", "runs a test in a process with little memory", nil},
			{"internal/test/seeds", "how many random cases a property test tries", nil},
		}},
	}
}

// rowOf returns the row of a package, whether it is product code, and whether it is in
// the table.
func rowOf(pkg string) (row pkgRow, product, known bool) {
	for _, t := range importTable() {
		for _, row := range t.packages {
			if row.path == pkg {
				return row, !isTest(pkg), true
			}
		}
	}
	return pkgRow{}, false, false
}

// isTest reports whether a package is for tests and measurements only: no product code
// imports it.
func isTest(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/test/") || pkg == "internal/architecture" || pkg == "internal/readme"
}

// isProduct reports whether a package is part of the programs.
func isProduct(pkg string) bool {
	_, product, _ := rowOf(pkg)
	return product
}

// The table is exactly what the code imports: no row, no package and no import is
// missing, and none is invented. Tests may import test support too, and tests of the
// programs, and outside of them, what they test.
func TestImportTable(t *testing.T) {
	imports := map[string][]string{}
	eachImport(t, func(pkg, file, path string, test bool) {
		if _, seen := imports[pkg]; !seen {
			imports[pkg] = nil
		}
		local, ok := strings.CutPrefix(path, module)
		switch {
		case !ok || local == pkg:
		case test:
			row, product, _ := rowOf(pkg)
			assert.True(t, !product || slices.Contains(withTheirs(row.uses), local) || local == "manifest" || strings.HasPrefix(local, "internal/"), "%s: a test of package %s may not import %s", file, pkg, local)
		case !slices.Contains(imports[pkg], local):
			imports[pkg] = append(imports[pkg], local)
		}
	})
	listed := 0
	for _, tier := range importTable() {
		for _, row := range tier.packages {
			listed++
			have, exists := imports[row.path]
			require.True(t, exists, "the table names %s, which does not exist", row.path)
			assert.ElementsMatch(t, row.uses, have, "imports of %s: change the code, or its row in importTable and run make golden", row.path)
		}
	}
	for pkg := range imports {
		_, _, known := rowOf(pkg)
		assert.True(t, known, "package %s is not in importTable: add its row, and run make golden", pkg)
	}
	require.Len(t, imports, listed, "a package is in the table twice")
}

// withTheirs returns packages, and those that they import.
func withTheirs(uses []string) []string {
	all := slices.Clone(uses)
	for _, pkg := range uses {
		row, _, _ := rowOf(pkg)
		all = append(all, row.uses...)
	}
	return all
}

// Imports point down the table, and product code imports no test support.
func TestImportsPointDown(t *testing.T) {
	at := map[string]int{}
	for n, tier := range importTable() {
		for _, row := range tier.packages {
			at[row.path] = n
		}
	}
	for n, tier := range importTable() {
		for _, row := range tier.packages {
			for _, used := range row.uses {
				if isTest(row.path) && isProduct(used) {
					continue
				}
				assert.Greater(t, at[used], n, "%s imports %s, which is not below it", row.path, used)
				assert.True(t, isTest(row.path) || isProduct(used), "%s imports the test support %s", row.path, used)
			}
		}
	}
}

// forbiddenInPure returns imports that would give pure packages side effects.
func forbiddenInPure() []string {
	return []string{"net", "net/http", "os", "os/exec", "k8s.io/client-go"}
}

func TestPurePackagesHaveNoSideEffects(t *testing.T) {
	pure := []string{"object", "sortorder", "ordering", "internal/references", "internal/graph", "internal/nearest", "health", "applyset"}
	eachImport(t, func(pkg, file, path string, test bool) {
		if !slices.Contains(pure, pkg) || test {
			return
		}
		for _, no := range forbiddenInPure() {
			assert.False(t, path == no || strings.HasPrefix(path, no+"/"), "%s: package %s is pure and may not import %s", file, pkg, path)
		}
	})
}

func skipFolder(root, path string) error {
	if path == root {
		return nil
	}
	name := filepath.Base(path)
	nested, err := filepath.Glob(filepath.Join(path, "go.mod"))
	if err != nil {
		return err
	}
	if len(nested) > 0 || name == "testdata" || strings.HasPrefix(name, ".") || name == "bin" {
		return filepath.SkipDir
	}
	return nil
}
