package sortorder

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/text/strict"
)

// docs/files.md lists every field of the files that people write, from the types into
// which they are decoded. `make golden` writes it.
func TestFilesPage(t *testing.T) {
	page := "# Files\n\n" +
		"Every field of the files that you write, a string unless another type is given. An unknown field\n" +
		"is an error that suggests the nearest known one.\n\n" +
		"## SortOrder\n\n" +
		"The configuration of [`sortorder`](sortorder.md), and the file of `ordapply --order`. Editors\n" +
		"validate it with its JSON Schema, [schema.json](../sortorder/schema.json): the first line is\n" +
		"`# yaml-language-server: $schema=schema.json`.\n\n" +
		fieldTable("", reflect.TypeFor[config]()) +
		"\n## HealthRules\n\n" +
		"The file of `ordapply --health-rules`: `apiVersion: " + APIVersion + "`, `kind: HealthRules`, and\n" +
		"`rules`, a list with the fields of `stacks[].health` ([readiness](health.md#rules-for-a-kind)).\n" +
		"\n## Fleet\n\n" +
		"The file of `ordapply apply --fleet` ([fleets](fleets.md)).\n\n" + fieldTable("", fleet.Document()) +
		"\n## Configuration\n\n" +
		"The file of `ordapply --config`: names of [flags](commands.md) without dashes, such as\n" +
		"`wave-timeout: 10m`. The command line and environment variables take precedence.\n\n" +
		"## Files that ordapply writes\n\n" +
		"- `-o json` writes [events](events.md).\n" +
		"- `plan --out FILE` writes a [plan](plan.md#apply-what-was-planned), which is not meant to be edited.\n" +
		"- `--metrics-file` writes [metrics](metrics.md), `--report` a [page](report.md).\n"
	file := filepath.Join("..", "docs", "files.md")
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, page, string(got), "run `make golden`")
}

// fieldTable returns a table of the fields below a path, and of the fields in them. If the
// fields of a type are in the table already, a reference to them takes their place.
func fieldTable(path string, of reflect.Type) string {
	return "| field | meaning |\n|---|---|\n" + fieldRows(path, of, map[reflect.Type]string{})
}

func fieldRows(path string, of reflect.Type, seen map[reflect.Type]string) string {
	var rows strings.Builder
	for _, field := range strict.FieldsOf(of) {
		if isCondition(of, field) && path != "sortOrder[]." {
			if field.Index[len(field.Index)-1] == 0 {
				fmt.Fprintf(&rows, "| `%s…` | `matchAnnotations` to `namespace`, as in `sortOrder[]`. |\n", path)
			}
			continue
		}
		name := path + field.Tag.Get("json")
		kind, inner, step := describeType(field.Type)
		if named := field.Tag.Get("type"); named != "" {
			kind, inner = named, nil
		}
		meaning := field.Tag.Get("doc")
		if known := seen[inner]; inner != nil && known != "" {
			meaning += " Fields as in `" + known + "`."
			inner = nil
		}
		rows.WriteString(fieldRow(name, kind, meaning))
		if inner != nil {
			seen[inner] = name
			rows.WriteString(fieldRows(name+step+".", inner, seen))
		}
	}
	return rows.String()
}

// fieldRow returns a row of a table: the field with its type, unless that is string.
func fieldRow(name, kind, meaning string) string {
	if kind == "string" {
		return fmt.Sprintf("| `%s` | %s |\n", name, meaning)
	}
	return fmt.Sprintf("| `%s` (%s) | %s |\n", name, kind, meaning)
}

// isCondition reports whether a field of a struct is one of the conditions that selectors,
// applications and rules share.
func isCondition(of reflect.Type, field reflect.StructField) bool {
	place := field.Index[:len(field.Index)-1]
	return len(place) > 0 && of.FieldByIndex(place).Type == reflect.TypeFor[conditionSpec]()
}

// describeType returns the word for a type, the struct whose fields it has, and the suffix
// of its name in their paths.
func describeType(of reflect.Type) (word string, inner reflect.Type, step string) {
	switch of.Kind() {
	case reflect.Pointer:
		return describeType(of.Elem())
	case reflect.Bool:
		return "boolean", nil, ""
	case reflect.Map:
		return "map of strings", nil, ""
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			return "list", of.Elem(), "[]"
		}
		return "list of strings", nil, ""
	case reflect.Struct:
		if of == reflect.TypeFor[typeOrderSpec]() {
			return "string or object", of, ""
		}
		return "object", of, ""
	}
	return "string", nil, ""
}
