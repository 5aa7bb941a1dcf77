package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/plan"
)

// docs/plan.md lists exactly the fields of the JSON document, and every action.
func TestPlanPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plan.md"))
	require.NoError(t, err)
	_, tables, _ := strings.Cut(string(page), "## For programs")
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(tables, -1) {
		for _, name := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			parts := strings.FieldsFunc(name[1], func(r rune) bool { return strings.ContainsRune(".…[]", r) })
			for _, part := range parts {
				documented[part] = true
			}
		}
	}
	require.Equal(t, jsonFields(reflect.TypeFor[plan.Document](), map[string]bool{}), documented)
	for _, action := range preview.Actions() {
		require.Contains(t, string(page), "| `"+string(action)+"` |")
	}
}

// jsonFields returns the names of a type's JSON fields, recursively.
func jsonFields(of reflect.Type, names map[string]bool) map[string]bool {
	for of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return names
	}
	for i := range of.NumField() {
		field := of.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
		jsonFields(field.Type, names)
	}
	return names
}
