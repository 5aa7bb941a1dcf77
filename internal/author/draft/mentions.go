package draft

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// byFullName finds the resources of a stream by "namespace/name".
type byFullName map[string][]int

// mentions records what resources mention of other groups, and what makes them ready. The
// address of a Service also relates the workloads behind it to the one that is given it.
func (p *proposal) mentions() {
	controllers := p.ControllersOf(p.Kept)
	all := byFullName{}
	for i, r := range p.Resources {
		all[r.Namespace+"/"+r.Name] = append(all[r.Namespace+"/"+r.Name], i)
	}
	for i, r := range p.Resources {
		if p.IsPassive(i) {
			continue
		}
		p.use(i, controllers(i))
		for text := range texts(r.Object) {
			for _, namespace := range slices.Compact([]string{r.Namespace, ""}) {
				p.use(i, all[namespace+"/"+text])
			}
		}
		if references.PodSpec(r.Object) == nil {
			continue
		}
		for _, text := range p.settings(i) {
			for _, name := range hosts(text.value, r.Namespace, text.names) {
				p.address(i, all[name], text.where)
			}
		}
	}
}

// use records that a resource mentions others: these may not wait for its readiness.
func (p *proposal) use(user int, used []int) {
	to := p.vertex(int32(user))
	for _, i := range used {
		if from := p.vertex(int32(i)); from != to {
			p.uses = append(p.uses, graph.Edge{From: from, To: to})
		}
	}
}

// address records that a workload is given the addresses of Services.
func (p *proposal) address(workload int, services []int, where string) {
	for _, service := range services {
		r := p.Resources[service]
		if r.GroupKind() != "Service" {
			continue
		}
		p.use(workload, []int{service})
		p.use(workload, p.WorkloadsBehind(service))
		to, why := p.groupOf[workload], fmt.Sprintf("%s: %s names %s", p.Resources[workload].ID, where, r.ID)
		for _, behind := range p.WorkloadsBehind(service) {
			if from := p.groupOf[behind]; from >= 0 && to >= 0 && from != to {
				p.relations = append(p.relations, relation{from: from, to: to, why: why, sure: byAddress})
			}
		}
	}
}

// texts returns the strings in the fields of a manifest that may name another object: not
// its metadata, labels and selectors, not the names of parts of itself, such as
// containers, not what containers are told, which settings reads, and not fields that name
// a kind that edges know.
func texts(obj map[string]any) map[string]bool {
	out := map[string]bool{}
	var walk func(v any, inList bool)
	walk = func(v any, inList bool) {
		switch v := v.(type) {
		case string:
			out[v] = true
		case []any:
			for _, item := range v {
				walk(item, true)
			}
		case map[string]any:
			for key, value := range v {
				switch key {
				case "apiVersion", "kind", "metadata", "status", "labels", "matchLabels", "matchExpressions", "selector",
					"image", "env", "command", "args", "serviceAccountName", "serviceAccount", "priorityClassName", "runtimeClassName", "storageClassName", "ingressClassName":
				case "name":
					if !inList {
						walk(value, false)
					}
				default:
					walk(value, false)
				}
			}
		}
	}
	walk(obj, false)
	return out
}

// setting is a text that a container is given.
type setting struct {
	where, value string
	names        bool // a word alone names a database or a user, not a host
}

// settings returns the variables and arguments of a workload's containers, and the values
// of the ConfigMaps and Secrets that they use.
func (p *proposal) settings(workload int) []setting {
	var out []setting
	spec := references.PodSpec(p.Resources[workload].Object)
	for _, field := range []string{"initContainers", "containers"} {
		for _, container := range references.List(spec, field) {
			where := "container " + references.String(container, "name")
			for _, env := range references.List(container, "env") {
				name := references.String(env, "name")
				out = append(out, setting{where + ", env " + name, references.String(env, "value"), namesNoHost(name)})
			}
			for _, list := range []string{"command", "args"} {
				for _, text := range references.Texts(container, list) {
					out = append(out, setting{where: where + ", " + list, value: text})
				}
			}
		}
	}
	for _, e := range p.Kept {
		from, ok := p.ResourceOf(e.From)
		if int(e.To) != workload || !ok {
			continue
		}
		r := p.Resources[from]
		data := dataOf(r)
		for _, key := range sortedKeys(data) {
			out = append(out, setting{fmt.Sprintf("%s, key %s", r.ID, key), data[key], namesNoHost(key)})
		}
	}
	return out
}

// dataOf returns the texts in a ConfigMap or Secret.
func dataOf(r ordering.Resource) map[string]string {
	out := map[string]string{}
	for _, field := range []string{"data", "stringData"} {
		data, _ := references.Field(r.Object, field).(map[string]any)
		for key, value := range data {
			text, _ := value.(string)
			switch kind := r.GroupKind(); {
			case kind == "Secret" && field == "data":
				raw, _ := base64.StdEncoding.DecodeString(text)
				out[key] = string(raw)
			case kind == "Secret", kind == "ConfigMap":
				out[key] = text
			}
		}
	}
	return out
}

// namesNoHost reports whether the last word of a variable says that it names a database or
// a user: POSTGRES_DB, whose value is often the name of the application.
func namesNoHost(variable string) bool {
	words := strings.FieldsFunc(strings.ToLower(variable), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return len(words) > 0 && slices.Contains([]string{"db", "dbname", "database", "schema", "user", "username", "password", "role", "name"}, words[len(words)-1])
}

// hosts returns the names of Services that a text may hold as an address, as
// namespace/name: db, db:5432, http://db/, user@db.shop.svc, $(DB_SERVICE_HOST). A word alone
// is none if the text names something else.
func hosts(text, namespace string, namesElse bool) []string {
	var out []string
	for _, variable := range regexp.MustCompile(`\b([A-Z0-9_]+)_SERVICE_(HOST|PORT)`).FindAllStringSubmatch(text, -1) {
		out = append(out, namespace+"/"+strings.ReplaceAll(strings.ToLower(variable[1]), "_", "-"))
	}
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
		addressed := before == "" && after == "" && !namesElse || port || strings.HasSuffix(before, "//") || strings.HasSuffix(before, "@")
		switch {
		case !qualified && addressed:
			out = append(out, namespace+"/"+name)
		case qualified && name != "":
			out = append(out, ns+"/"+name)
		}
	}
	return out
}
