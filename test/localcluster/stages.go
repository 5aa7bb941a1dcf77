package main

import (
	"bytes"
	"embed"
	"io/fs"
	"text/template"
)

//go:embed stages/*.yaml
var stageFiles embed.FS

// stages are the rules by which kwok moves Nodes, Pods and Services on. The files hold kwok's own
// templates in {{ }}, and in [[ ]] this cluster's decisions. Every patch of a Pod names the
// resourceVersion that it answers: kwok may play a stage twice, on an old event as well, and
// without that a Pod that is ready would be set back.
func (c *cluster) stages() ([]byte, error) {
	parsed, err := template.New("").Delims("[[", "]]").ParseFS(stageFiles, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(stageFiles, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	out := &bytes.Buffer{}
	for _, name := range names {
		out.WriteString("---\n")
		err := parsed.ExecuteTemplate(out, name[len("stages/"):], map[string]any{
			"LogsPort":    c.Ports[portPodLogs],
			"Version":     c.Kubernetes,
			"MinMs":       c.ReadyAfter.Min.Milliseconds(),
			"MaxMs":       c.ReadyAfter.Max.Milliseconds(),
			"HostNetwork": c.hostNetwork(),
			"NextRestart": nextRestart,
		})
		if err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// nextRestart is the jq expression of the time at which a container that crashed is restarted: at once, then after 10 s,
// 20 s, 40 s and so on up to 5 minutes. A time and not a duration, because a delay begins anew when its Pod changes.
const nextRestart = `.status.containerStatuses[0] | .restartCount as $n | if $n == 0 then "0s" else ` +
	`(.lastState.terminated.finishedAt | fromdate) + ([300, 10 * pow(2; $n - 1)] | min) | todate end`
