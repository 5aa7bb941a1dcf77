package initorder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/references"
)

// guess adds relations that no edge expresses: a container is given the address of a
// Service, and the names of groups. rank drops guesses that contradict others.
func (p *proposal) guess() {
	services := map[string]int{} // by namespace/name
	for i, r := range p.Resources {
		if r.Kind == "Service" && r.Group == "" {
			services[r.Namespace+"/"+r.Name] = i
		}
	}
	for i, r := range p.Resources {
		if references.PodSpec(r.Object) == nil || p.groupOf[i] < 0 {
			continue
		}
		for _, text := range p.settings(i) {
			for _, name := range hosts(text.value, r.Namespace) {
				if service, ok := services[name]; ok {
					p.usesService(i, service, text.where)
				}
			}
		}
	}
	p.byStage()
}

// usesService relates a workload to those behind a Service that its settings name.
func (p *proposal) usesService(workload, service int, where string) {
	to, why := p.groupOf[workload], fmt.Sprintf("%s: %s names %s", p.Resources[workload].ID, where, p.Resources[service].ID)
	for _, behind := range p.WorkloadsBehind(service) {
		if from := p.groupOf[behind]; from >= 0 && from != to {
			p.relations = append(p.relations, relation{from: from, to: to, why: why})
		}
	}
}

// setting is a text that a container is given.
type setting struct{ where, value string }

// settings returns the variables and arguments of a workload's containers, and the values
// of the ConfigMaps that they use.
func (p *proposal) settings(workload int) []setting {
	var out []setting
	spec := references.PodSpec(p.Resources[workload].Object)
	for _, field := range []string{"initContainers", "containers"} {
		for _, container := range references.List(spec, field) {
			where := "container " + references.String(container, "name")
			for _, env := range references.List(container, "env") {
				out = append(out, setting{where + ", env " + references.String(env, "name"), references.String(env, "value")})
			}
			for _, list := range []string{"command", "args"} {
				for _, arg := range references.List(container, list) {
					if text, ok := arg.(string); ok {
						out = append(out, setting{where + ", " + list, text})
					}
				}
			}
		}
	}
	for _, e := range p.Kept {
		from, ok := p.ResourceOf(e.From)
		if int(e.To) != workload || !ok || p.Resources[from].GroupKind() != "ConfigMap" {
			continue
		}
		data, _ := references.Field(p.Resources[from].Object, "data").(map[string]any)
		for _, name := range sortedKeys(data) {
			if text, ok := data[name].(string); ok {
				out = append(out, setting{fmt.Sprintf("%s, key %s", p.Resources[from].ID, name), text})
			}
		}
	}
	return out
}

// hosts returns the names of Services that a text may hold as an address, as
// namespace/name: db, db:5432, http://db/, user@db.shop.svc.
func hosts(text, namespace string) []string {
	var out []string
	isName := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.'
	}
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && isName(rune(text[end])) {
			end++
		}
		if end == at {
			at++
			continue
		}
		before, host, after := text[:at], text[at:end], text[end:]
		at = end
		name, rest, qualified := strings.Cut(host, ".")
		ns, _, _ := strings.Cut(rest, ".")
		port := len(after) > 1 && after[0] == ':' && after[1] >= '0' && after[1] <= '9'
		addressed := before == "" && after == "" || port || strings.HasSuffix(before, "//") || strings.HasSuffix(before, "@")
		switch {
		case !qualified && addressed:
			out = append(out, namespace+"/"+name)
		case qualified && name != "":
			out = append(out, ns+"/"+name)
		}
	}
	return out
}

// stages are words in names of groups, by when such a group usually goes.
func stages() [][]string {
	return [][]string{
		{"foundation", "base", "infra", "infrastructure", "guard", "policy"},
		{"data", "database", "databases", "db", "storage", "store", "cache", "queue", "broker", "postgres", "postgresql", "mysql", "mariadb", "mongo", "mongodb", "redis", "valkey", "memcached", "kafka", "rabbitmq", "nats", "etcd", "minio", "elasticsearch", "statefulset"},
		{"schema", "migration", "migrations", "migrate"},
		{"backend", "api", "logic", "worker", "workers"},
		{"frontend", "front", "web", "ui", "gateway", "edge", "ingress"},
		{"test", "tests", "smoke", "loadgenerator"},
	}
}

// stageOf returns the stage of a name whose words are of one stage only; -1 if none.
func stageOf(name string) int {
	found := -1
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_./ ", r) }) {
		for n, words := range stages() {
			if !slices.Contains(words, word) {
				continue
			}
			if found >= 0 && found != n {
				return -1
			}
			found = n
		}
	}
	return found
}

// byStage relates groups whose names are of different stages.
func (p *proposal) byStage() {
	byStage := make([][]int, len(stages()))
	for g := range p.groups {
		if at := stageOf(p.groups[g].title); at >= 0 && p.groups[g].selector.namespace == "" {
			byStage[at] = append(byStage[at], g)
		}
	}
	var before []int // of the last stage that has a group
	for _, now := range byStage {
		for _, from := range before {
			for _, to := range now {
				why := fmt.Sprintf("%s usually goes after %s; nothing in the manifests says so", p.groups[to].title, p.groups[from].title)
				p.relations = append(p.relations, relation{from: from, to: to, why: why})
			}
		}
		if len(now) > 0 {
			before = now
		}
	}
}
