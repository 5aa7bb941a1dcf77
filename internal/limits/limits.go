// Package limits has the bounds on the work that manifests, charts, health rules and stored
// revisions can cause. They are far above the needs of real input, and keep hostile input
// from taking all memory, or time without an end:
//
//	if depth > limits.ChartDepth {
//		return fmt.Errorf("more than %d charts are inside one another: …", limits.ChartDepth)
//	}
package limits

import "time"

// Files and downloads. Manifests in files, or on standard input, may have any size.
const (
	File         = 256 << 20        // bytes of a file that a flag names, other than manifests
	Download     = 64 << 20         // bytes of a URL of -f, uncompressed
	DownloadTime = 30 * time.Second // of one URL
)

// YAML.
const (
	Aliases       = 16 << 20 // bytes that the aliases of a document may repeat
	StreamAliases = 64 << 20 // bytes that the aliases of all documents of a stream may repeat
	AliasValue    = 64       // bytes that a value counts besides its text
	AliasDepth    = 200      // levels of a document with aliases
	ListDepth     = 10       // Lists inside one another
)

// Charts of --chart.
const (
	ChartDepth  = 20        // charts inside one another
	ChartCount  = 1_000     // subcharts of a chart, each as often as it is a dependency
	ChartFile   = 1 << 20   // bytes of one Chart.yaml
	ChartPacked = 100 << 20 // bytes of all packed charts, decompressed; Helm allows as many for one
)

// Conditions in CEL.
const (
	CELTime  = time.Second // of one evaluation
	CELCost  = 1_000_000   // of one evaluation, in CEL's units: a call costs a tenth of the bytes that it reads and returns
	CELSize  = 4 << 20     // bytes that a function reads or returns
	CELValue = 16          // bytes that a value counts besides its text
)

// Health checks in Lua.
const (
	LuaTime         = time.Second // of one evaluation, as in Argo CD
	LuaInstructions = 2_000_000   // of one evaluation
	LuaBytes        = 64 << 20    // bytes of texts and lists that one evaluation creates
	LuaSubject      = 64 << 10    // bytes of a text in which a pattern is matched
)

// Abandon is the time after which an evaluation in CEL or Lua is not waited for. Their own
// limits are looked at between the steps of an evaluation, and one step may take long.
const Abandon = 3 * time.Second

// PathText is the size of a map or list that a condition in JSONPath compares as text: the
// number of its values and the length of their texts. A path may select many that are inside
// one another.
const PathText = 4 << 10

// Name is the length in bytes up to which names are compared for a suggestion. A name of
// Kubernetes has at most 253.
const Name = 300

// Stored revisions of an apply set.
const (
	RevisionText      = 64 << 20  // bytes of JSON
	RevisionObjects   = 1_000_000 // objects of JSON in it, at any depth
	RevisionValues    = 4_000_000 // objects, lists and scalars in it
	RevisionResources = 100_000   // resources, hooks and steps of the plan, each
	RecordText        = 8 << 20   // bytes of JSON about its run
	RecordValues      = 200_000   // objects, lists and scalars in that; half of them may be objects
)

// Shutdown is the time that an interrupted command has to end. It is longer than requests in
// flight, the record of the run and the release of its lock may take together.
const Shutdown = 45 * time.Second
