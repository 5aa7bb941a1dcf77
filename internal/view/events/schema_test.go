package events

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented are the lines in the order of docs/events.md.
func documented() []struct {
	name  string
	about string
	line  any
} {
	return []struct {
		name  string
		about string
		line  any
	}{
		{TypeRunStart, "The first line of a run.", RunStart{}},
		{TypePlan, "The second line of a run: its plan.", Plan{}},
		{TypeRevision, "The revision was stored, before the first write to a member.", Revision{}},
		{TypeWaveStart, "A wave opened. There are no such lines with `--schedule=graph`.", WaveStart{}},
		{TypeResource, "The state of a resource, or what it waits for, changed.", Resource{}},
		{TypeHook, "The state of a hook changed. Hooks are in no wave and in no `counts`.", Hook{}},
		{TypeHookLog, "The log of a container of a Helm hook with the annotation `helm.sh/hook-output-log-policy`.", HookLog{}},
		{TypeWaveEnd, "A wave ended.", WaveEnd{}},
		{TypeRollbackStart, "The run failed and is rolled back (`--rollback-on-failure`). The lines from here to the end belong to the rollback.", RollbackStart{}},
		{TypeWarning, "A warning. Warnings about the plan and about a lost order come first, all others last.", Warning{}},
		{TypeError, "A reason why the run failed, or did not begin: one line for each, after the last transition.", Error{}},
		{TypeRunEnd, "The summary of the run; on a fleet, the last line of a cluster.", RunEnd{}},
		{TypeFleetStart, "The first line of a run on a fleet.", FleetStart{}},
		{TypeCohortStart, "A cohort opened.", CohortStart{}},
		{TypeClusterStart, "The run on a cluster starts; its lines follow, among those of others.", ClusterStart{}},
		{TypeClusterEnd, "The run on a cluster ended.", ClusterEnd{}},
		{TypeCohortGate, "The runs of a cohort are over; its clusters must stay ready for a while.", CohortGate{}},
		{TypeCohortEnd, "A cohort ended.", CohortEnd{}},
		{TypeCohortPause, "The next cohort opens after a pause.", CohortPause{}},
		{TypeFleetEnd, "The summary of a run on a fleet.", FleetEnd{}},
	}
}

// The schema and the tables in docs/ match the types. `make golden` updates
// them.
func TestDocumentation(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	golden(t, filepath.Join(docs, "events.schema.json"), func(string) string { return schemaText(t) })
	golden(t, filepath.Join(docs, "events.md"), func(page string) string {
		begin, end := "<!-- fields: made by make golden -->\n", "<!-- end of fields -->"
		head, rest, ok := strings.Cut(page, begin)
		require.True(t, ok)
		_, tail, ok := strings.Cut(rest, end)
		require.True(t, ok)
		return head + begin + tables() + end + tail
	})
}

func golden(t *testing.T, path string, want func(now string) string) {
	t.Helper()
	now, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	wanted := want(string(now))
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(wanted), 0o644))
		return
	}
	require.Equal(t, wanted, string(now), "%s is not what the types say: run make golden", path)
}

// tables describes the fields of each line. Fields that an earlier line embeds, too, are
// described there.
func tables() string {
	var b strings.Builder
	described := map[reflect.Type]string{reflect.TypeFor[Head](): ""}
	for _, d := range documented() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| field | type | meaning |\n|---|---|---|\n", d.name, d.about)
		for _, f := range fields(reflect.TypeOf(d.line)) {
			line, known := described[f.owner]
			if known && line != d.name {
				if line != "" && f.name == fields(f.owner)[0].name {
					fmt.Fprintf(&b, "| %s | | as in [%s](#%s) |\n", inline(f.owner), line, strings.ToLower(line))
				}
				continue
			}
			described[f.owner] = d.name
			meaning := f.doc
			if len(f.enum) > 0 {
				meaning += ": `" + strings.Join(f.enum, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, typeName(f.of), meaning)
		}
	}
	return b.String() + "\n"
}

func typeName(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Slice:
		if of.Elem().Kind() == reflect.String {
			return "list of strings"
		}
		return "list of objects: " + inline(of.Elem())
	case reflect.Map:
		return "object: state to number"
	case reflect.Pointer:
		return "object: " + inline(of.Elem())
	case reflect.Int, reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	}
	return "string"
}

func inline(of reflect.Type) string {
	var names []string
	for _, f := range fields(of) {
		names = append(names, "`"+f.name+"`")
	}
	return strings.Join(names, ", ")
}

type field struct {
	name     string
	doc      string
	enum     []string
	required bool
	of       reflect.Type
	owner    reflect.Type
}

// fields returns the JSON fields of a struct, with embedded structs flattened.
func fields(of reflect.Type) []field {
	var all []field
	for f := range of.Fields() {
		if f.Anonymous {
			all = append(all, fields(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		one := field{name: name, doc: f.Tag.Get("doc"), required: options == "", of: f.Type, owner: of}
		if enum := f.Tag.Get("enum"); enum != "" {
			one.enum = strings.Split(enum, ",")
		}
		all = append(all, one)
	}
	return all
}

// schemaText returns the JSON Schema of one line.
func schemaText(t *testing.T) string {
	t.Helper()
	var lines []any
	for _, d := range documented() {
		s := objectOf(reflect.TypeOf(d.line))
		s["title"], s["description"] = d.name, d.about
		s["properties"].(map[string]any)["type"] = map[string]any{"type": "string", "enum": []string{d.name}}
		lines = append(lines, s)
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"title":       fmt.Sprintf("One line of ordapply apply -o json, version %d", Version),
		"description": "Fields and types of lines may be added without a new version: ignore those that you do not know.",
		"oneOf":       lines,
	}, "", "  ")
	require.NoError(t, err)
	return string(text) + "\n"
}

func objectOf(of reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range fields(of) {
		s := schemaOf(f.of)
		s["description"] = f.doc
		if len(f.enum) > 0 {
			s["enum"] = f.enum
		}
		properties[f.name] = s
		if f.required {
			required = append(required, f.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func schemaOf(of reflect.Type) map[string]any {
	switch of.Kind() {
	case reflect.Slice:
		items := schemaOf(of.Elem())
		if of.Elem().Kind() == reflect.Struct {
			items = objectOf(of.Elem())
		}
		return map[string]any{"type": "array", "items": items}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer"}}
	case reflect.Pointer:
		return objectOf(of.Elem())
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Struct: // a time
		return map[string]any{"type": "string", "format": "date-time"}
	}
	return map[string]any{"type": "string"}
}

// The schema contains every state of package apply except the one before the
// first transition.
func TestEveryStateIsDocumented(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "apply", "event", "event.go"))
	require.NoError(t, err)
	var states []string
	for _, m := range regexp.MustCompile(`State = "([a-z ]+)"`).FindAllStringSubmatch(string(source), -1) {
		if m[1] != "pending" {
			states = append(states, state(stateNamed(m[1])))
		}
	}
	require.NotEmpty(t, states)
	f, _ := reflect.TypeFor[Resource]().FieldByName("State")
	require.ElementsMatch(t, states, strings.Split(f.Tag.Get("enum"), ","))
	for _, s := range states {
		require.Regexp(t, `^[a-zA-Z]+$`, s, "one word")
	}
}
