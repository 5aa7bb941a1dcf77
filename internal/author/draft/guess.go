package draft

import (
	"fmt"
	"slices"
	"strings"
)

// guess adds relations that no edge expresses: a container is given the address of a
// Service, and the names of groups. rank drops guesses that contradict others.
func (p *proposal) guess() {
	p.mentions()
	p.byStage()
}

const (
	dataStage   = 1
	schemaStage = 2
)

// stages are words in names of groups, by when such a group usually goes.
func stages() [][]string {
	return [][]string{
		{"foundation", "base", "infra", "infrastructure", "guard", "policy"},
		{"data", "database", "databases", "db", "storage", "store", "cache", "queue", "broker", "postgres", "postgresql", "mysql", "mariadb", "mongo", "mongodb", "redis", "valkey", "memcached", "kafka", "rabbitmq", "nats", "etcd", "minio", "elasticsearch"},
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

// byStage relates each group to the last ones whose names are of an earlier stage, if
// that says something: tests come after all others, and others after data and schemas,
// which need nothing of them. Whether a backend comes before a frontend says only a label
// that is for the order, such as tier.
func (p *proposal) byStage() {
	groups := make([][]int, len(stages()))
	for g := range p.groups {
		if at := p.stageOf(g); at >= 0 && p.groups[g].selector.namespace == "" {
			groups[at] = append(groups[at], g)
		}
	}
	tests := len(groups) - 1
	for at := range groups {
		for _, to := range groups[at] {
			for earlier := at - 1; earlier >= 0; earlier-- {
				if p.comeBefore(to, groups[earlier], at == tests || earlier == dataStage || earlier == schemaStage) && at != tests {
					break
				}
			}
		}
	}
}

// comeBefore relates a group to those of an earlier stage, if the stages say something or
// the labels of both are for the order. It reports whether there are any.
func (p *proposal) comeBefore(to int, earlier []int, sure bool) bool {
	found := false
	for _, from := range earlier {
		if !sure && (!p.groups[from].selector.isOfOrder() || !p.groups[to].selector.isOfOrder()) {
			continue
		}
		found = true
		if !slices.ContainsFunc(p.relations, func(r relation) bool { return r.from == from && r.to == to }) {
			why := fmt.Sprintf("%s usually goes after %s; nothing in the manifests says so", p.called(to), p.called(from))
			p.relations = append(p.relations, relation{from: from, to: to, why: why})
		}
	}
	return found
}

// called returns what the stage of a group is read from.
func (p *proposal) called(g int) string {
	if group := p.groups[g]; group.selector.kind != "" {
		return p.Resources[group.members[0]].Name
	}
	return p.groups[g].title
}

// stageOf returns the stage of a group: of its title, or, if that is only a kind, of the
// names of all its resources.
func (p *proposal) stageOf(g int) int {
	group := p.groups[g]
	switch {
	case group.defines():
		return -1
	case group.selector.kind == "":
		return stageOf(group.title)
	}
	stage := stageOf(p.Resources[group.members[0]].Name)
	for _, i := range group.members {
		if stageOf(p.Resources[i].Name) != stage {
			return -1
		}
	}
	return stage
}
