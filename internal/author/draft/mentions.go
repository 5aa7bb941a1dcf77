package draft

import (
	"encoding/base64"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// ruleMentioned marks an edge that forbids gates, and adds none.
const ruleMentioned ordering.Rule = "mentioned"

// spareMentioned records that the resources which a manifest mentions may not wait for its
// readiness: it may need them. A mention orders nothing; it only forbids gates, so a word that
// is no name does no harm. Resources are mentioned by a field that is their name, and Services,
// with the workloads behind them, by any word in a variable, an argument, a ConfigMap or a Secret.
func (p *proposal) spareMentioned() {
	named := map[string][]int{} // by namespace/name
	for i, r := range p.Resources {
		named[r.Namespace+"/"+r.Name] = append(named[r.Namespace+"/"+r.Name], i)
	}
	for i, r := range p.Resources {
		if p.IsPassive(i) {
			continue
		}
		for text := range texts(r.Object) {
			p.spare(i, named[r.Namespace+"/"+text])
			p.spare(i, named["/"+text])
			p.spareServices(i, text, named)
		}
		for _, e := range p.Kept {
			if from, ok := p.ResourceOf(e.From); ok && int(e.To) == i {
				for _, text := range dataOf(p.Resources[from]) {
					p.spareServices(i, text, named)
				}
			}
		}
	}
}

// spare records that resources may not wait for the readiness of their user.
func (p *proposal) spare(user int, used []int) {
	to := p.vertex(int32(user))
	for _, i := range used {
		if from := p.vertex(int32(i)); from != to {
			p.uses = append(p.uses, graph.Edge{From: from, To: to, Why: ordering.Reason{Rule: ruleMentioned}})
		}
	}
}

// spareServices does the same for the Services that words of a text name, as db, db.shop or
// DB_SERVICE_HOST, and for the workloads behind them.
func (p *proposal) spareServices(user int, text string, named map[string][]int) {
	isNoName := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	}
	for _, word := range strings.FieldsFunc(text, isNoName) {
		if variable, _, ok := strings.Cut(word, "_SERVICE_"); ok {
			word = strings.ReplaceAll(strings.ToLower(variable), "_", "-")
		}
		name, rest, _ := strings.Cut(word, ".")
		namespace, _, _ := strings.Cut(rest, ".")
		if namespace == "" {
			namespace = p.Resources[user].Namespace
		}
		for _, i := range named[namespace+"/"+name] {
			if p.Resources[i].GroupKind() == "Service" {
				p.spare(user, []int{i})
				p.spare(user, p.WorkloadsBehind(i))
			}
		}
	}
}

// texts returns the strings of a manifest that may name another object: without its metadata,
// status, labels and selectors, and without the names of its own parts, such as containers.
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
				case "apiVersion", "kind", "metadata", "status", "labels", "matchLabels", "matchExpressions", "selector", "image",
					"serviceAccountName", "serviceAccount", "priorityClassName", "runtimeClassName", "storageClassName", "ingressClassName":
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

// dataOf returns the texts in a ConfigMap or Secret.
func dataOf(r ordering.Resource) []string {
	var out []string
	for _, field := range []string{"data", "stringData"} {
		data, _ := references.Field(r.Object, field).(map[string]any)
		for _, value := range data {
			text, _ := value.(string)
			switch kind := r.GroupKind(); {
			case kind == "Secret" && field == "data":
				raw, _ := base64.StdEncoding.DecodeString(text)
				out = append(out, string(raw))
			case kind == "Secret", kind == "ConfigMap":
				out = append(out, text)
			}
		}
	}
	return out
}
