package html

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"
)

// sample returns the events of a failed run with n resources in five layers, a hook, and a
// rollback. The last one of the layer broker takes longest; an app fails.
func sample(n int) string {
	s := &sampler{at: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), layers: []string{"", "platform", "data", "broker", "apps", "web"}}
	s.plan(n)
	s.line("runStart", map[string]any{"server": "https://10.0.0.1:6443", "context": "staging", "schedule": "waves", "resources": n, "waves": s.waves, "command": "apply", "applySet": "shop", "commit": "8f94139c27", "message": "open the shop"})
	s.line("plan", map[string]any{"resources": s.resources})
	s.line("revision", map[string]any{"revision": 3, "user": "ci:deployer"})
	s.at = s.at.Add(500 * time.Millisecond)
	s.line("warning", map[string]any{"source": "plan", "message": "Deployment shop/app-9 has no readiness probe"})
	s.line("hook", map[string]any{"kind": "Job", "group": "batch", "namespace": "shop", "name": "migrate", "event": "pre-upgrade", "operation": "apply", "state": "applying"})
	s.at = s.at.Add(3 * time.Second)
	s.line("hook", map[string]any{"kind": "Job", "group": "batch", "namespace": "shop", "name": "migrate", "event": "pre-upgrade", "operation": "wait", "state": "ready", "final": true})
	failed := s.run()
	s.line("error", map[string]any{
		"resource": s.id(failed), "wave": 5, "layer": "apps",
		"message": "wave 5/6 (apps): wait for " + s.resources[failed]["name"].(string) + ": not ready after 30s: 0 of 1 replicas are available",
		"diagnosis": []any{
			map[string]any{"about": map[string]any{"kind": "Pod", "namespace": "shop", "name": "app-x7"}, "text": "container app waits: CrashLoopBackOff, restarted 4 times", "log": []string{"panic: no such host: kafka.shop", "goroutine 1 [running]:"}},
			map[string]any{"text": "Secret shop/app-credentials does not exist"},
		},
		"blocks": []any{s.id(n - 1)},
	})
	s.line("rollbackStart", map[string]any{"revision": 4, "resources": 1, "waves": []any{map[string]any{"wave": 1, "resources": 1}}})
	s.line("waveStart", map[string]any{"wave": 1, "resources": 1})
	s.transition(failed, 1, "applying", false, nil)
	s.at = s.at.Add(2 * time.Second)
	s.transition(failed, 1, "ready", true, map[string]any{"seconds": 2})
	s.line("runEnd", map[string]any{"state": "timedOut", "exitCode": 3, "seconds": s.at.Sub(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)).Seconds(), "counts": map[string]int{}})
	return s.out.String()
}

type sampler struct {
	out       strings.Builder
	at        time.Time
	layers    []string
	waves     []any
	resources []map[string]any
}

func (s *sampler) line(kind string, fields map[string]any) {
	fields["version"], fields["type"], fields["timestamp"] = 1, kind, s.at.Format(time.RFC3339Nano)
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	s.out.Write(append(text, '\n'))
}

// plan makes the resources: a tenth of them in each wave but the fifth, which has half.
func (s *sampler) plan(n int) {
	kinds := []string{"Namespace", "ConfigMap", "ServiceAccount", "StatefulSet", "Deployment", "Ingress"}
	sizes := make([]any, len(s.layers))
	for i := range n {
		wave := min(i*10/n, 4)
		if i >= n*9/10 {
			wave = 5
		}
		planned := map[string]any{"kind": kinds[wave], "group": "", "namespace": "shop", "name": fmt.Sprintf("%s-%d", []string{"shop", "settings", "robot", "kafka", "app", "site"}[wave], i), "wave": wave + 1, "readyBy": wave + 1, "gate": "ready"}
		if s.layers[wave] != "" {
			planned["layer"] = s.layers[wave]
		}
		var needs []any
		for _, before := range []int{i - n/10, i - n/5} {
			if before >= 0 && before < len(s.resources) && s.resources[before]["wave"] != wave+1 {
				id := s.id(before)
				id["gate"], id["reason"] = "ready", "pod-template: container app envFrom"
				needs = append(needs, id)
			}
		}
		planned["needs"] = needs
		s.resources = append(s.resources, planned)
		count, _ := sizes[wave].(int)
		sizes[wave] = count + 1
	}
	for w, size := range sizes {
		s.waves = append(s.waves, map[string]any{"wave": w + 1, "name": s.layers[w], "resources": size})
	}
}

// wave returns the description of a wave.
func (s *sampler) wave(w int) map[string]any { return maps.Clone(s.waves[w-1].(map[string]any)) }

func (s *sampler) id(i int) map[string]any {
	out := map[string]any{}
	for _, field := range []string{"group", "kind", "namespace", "name"} {
		out[field] = s.resources[i][field]
	}
	return out
}

func (s *sampler) transition(i, wave int, state string, final bool, more map[string]any) {
	fields := s.id(i)
	fields["wave"], fields["state"], fields["final"], fields["operation"] = wave, state, final, "apply"
	fields["layer"] = s.resources[i]["layer"]
	for k, v := range more {
		fields[k] = v
	}
	s.line("resource", fields)
}

// run writes the waves, and returns the resource that fails.
func (s *sampler) run() (failed int) {
	for w := 1; w <= 5; w++ {
		s.line("waveStart", s.wave(w))
		opened, longest := s.at, s.at
		for i, r := range s.resources {
			if r["wave"] != w {
				continue
			}
			failed = i
			s.at = opened.Add(time.Duration(i%7) * 100 * time.Millisecond)
			s.transition(i, w, "applying", false, nil)
			s.at = s.at.Add(400 * time.Millisecond)
			s.transition(i, w, "waiting", false, map[string]any{"message": "0 of 1 replicas are available", "created": i%4 == 0})
			s.at = s.at.Add(time.Duration(i%13+1) * time.Second)
			last := i+1 == len(s.resources) || s.resources[i+1]["wave"] != w
			if last && w == 4 {
				s.at = s.at.Add(2 * time.Minute)
			}
			switch {
			case last && w == 5:
				s.at = opened.Add(30 * time.Second)
				s.transition(i, w, "timedOut", true, map[string]any{"message": "0 of 1 replicas are available", "seconds": 29.5})
			default:
				s.transition(i, w, "ready", true, map[string]any{"seconds": s.at.Sub(opened).Seconds(), "created": i%4 == 0, "unchanged": i%4 == 1, "health": "Healthy"})
			}
			if s.at.After(longest) {
				longest = s.at
			}
		}
		s.at = longest
		ended := s.wave(w)
		ended["state"] = []string{"", "ready", "ready", "ready", "ready", "timedOut"}[w]
		s.line("waveEnd", ended)
	}
	for i := failed + 1; i < len(s.resources); i++ {
		s.transition(i, 6, "notStarted", true, nil)
	}
	return failed
}
