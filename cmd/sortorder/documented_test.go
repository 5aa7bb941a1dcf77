package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/readme"
)

// Every command of sortorder on a page, in blocks, inline code and prose, has a verb that the
// usage lists, or flags that exist.
func TestCommandsOnPages(t *testing.T) {
	var verbs []string
	for _, verb := range regexp.MustCompile(`(?m)^  sortorder (\w+)`).FindAllStringSubmatch(usage, -1) {
		verbs = append(verbs, verb[1])
	}
	pages, err := readme.Pages(filepath.Join("..", ".."))
	require.NoError(t, err)
	found := 0
	for page, text := range pages {
		for _, args := range readme.Commands(text, "sortorder") {
			found++
			if len(args) == 0 || slices.Contains(verbs, args[0]) {
				continue
			}
			_, err := parseFilter(args)
			assert.NoError(t, err, "%s: sortorder %s", page, strings.Join(args, " "))
		}
	}
	require.Greater(t, found, 20)
}
