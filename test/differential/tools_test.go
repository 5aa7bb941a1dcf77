package differential

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// ordapply is the command under test.
type ordapply struct{ binary, kubeconfig, home string }

// apply applies a folder. Objects that the run did not name have no outcome; the one of the
// zero ID is the run's own error.
func (c ordapply) apply(ctx context.Context, dir string, _ []map[string]any) (map[object.ID]outcome, error) {
	stdout, stderr, err := run(ctx, c.home, c.binary, "apply", "-f", dir, "--kubeconfig", c.kubeconfig,
		"--force-conflicts", "--ordering=false", "--wait=false", "--kind-timeout=0", "-o", "json", "--quiet")
	if err != nil {
		return nil, err
	}
	outcomes := map[object.ID]outcome{}
	for line := range strings.Lines(stdout) {
		var event struct {
			object.ID
			Resource         *object.ID
			Type, State      string
			Final, Unchanged bool
			Message          string
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return nil, err
		}
		switch {
		case event.Type == "resource" && event.Final && (event.State == "failed" || event.State == "timedOut"):
			outcomes[event.ID] = outcome{refused: true, why: event.Message}
		case event.Type == "resource" && event.Final && event.State != "skipped" && event.State != "notStarted":
			outcomes[event.ID] = outcome{unchanged: event.Unchanged}
		case event.Type == "error" && event.Resource != nil:
			outcomes[*event.Resource] = outcome{refused: true, why: event.Message}
		}
	}
	outcomes[object.ID{}] = outcome{refused: true, why: stderr}
	return outcomes, nil
}

// kubectlApply is the referee.
type kubectlApply struct{ binary, kubeconfig, home string }

// transient are kubectl's own failures on a loaded machine.
var transient = regexp.MustCompile(`i/o timeout|handshake timeout|request timed out|deadline exceeded|connection refused|connection reset|failed to download openapi|unexpected EOF`)

// apply applies a folder, and objects that only the machine's load refused once more.
func (c kubectlApply) apply(ctx context.Context, dir string, objects []map[string]any) (map[object.ID]outcome, error) {
	outcomes := map[object.ID]outcome{}
	files := map[object.ID]string{}
	for i, o := range objects {
		files[idOf(o)] = fileOf(dir, i)
	}
	for range 2 {
		if err := c.applyFiles(ctx, files, objects, outcomes); err != nil {
			return nil, err
		}
		maps.DeleteFunc(files, func(id object.ID, _ string) bool {
			return !outcomes[id].refused || !transient.MatchString(outcomes[id].why)
		})
	}
	return outcomes, nil
}

// applyFiles applies the files of some of the objects.
func (c kubectlApply) applyFiles(ctx context.Context, files map[object.ID]string, objects []map[string]any, outcomes map[object.ID]outcome) error {
	if len(files) == 0 {
		return nil
	}
	args := []string{c.binary, "apply", "--server-side", "--force-conflicts", "--kubeconfig", c.kubeconfig}
	for _, file := range slices.Sorted(maps.Values(files)) {
		args = append(args, "-f", file)
	}
	stdout, stderr, err := run(ctx, c.home, args...)
	if err != nil {
		return err
	}
	applied := map[string]bool{}
	for line := range strings.Lines(stdout) {
		name, _, _ := strings.Cut(line, " ")
		applied[name] = true
	}
	for _, o := range objects {
		id := idOf(o)
		if file, sent := files[id]; sent {
			outcomes[id] = outcome{}
			if !applied[printedName(o)] {
				outcomes[id] = outcome{refused: true, why: linesAbout(stderr, o, file)}
			}
		}
	}
	return nil
}

// printedName returns an object as kubectl prints it: deployment.apps/web.
func printedName(o map[string]any) string {
	u := unstructured.Unstructured{Object: o}
	gvk := u.GroupVersionKind()
	kind := strings.ToLower(gvk.Kind)
	if gvk.Group != "" {
		kind += "." + gvk.Group
	}
	return kind + "/" + u.GetName()
}

// linesAbout returns the lines of an output that name an object or its file.
func linesAbout(output string, o map[string]any, file string) string {
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(idOf(o).Name) + `\b`)
	var lines []string
	for line := range strings.Lines(output) {
		if name.MatchString(line) || strings.Contains(line, file) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}
