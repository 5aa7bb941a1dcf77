package sortorder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/sortorder"
)

// Editors find the schema of every example by its first line.
func TestExamplesNameTheSchema(t *testing.T) {
	found := 0
	require.NoError(t, filepath.WalkDir("../examples", func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "kind: "+sortorder.Kind+"\n") {
			found++
			require.Truef(t, strings.HasPrefix(string(text), "# yaml-language-server: $schema="+sortorder.SchemaURL+"\n"), "%s", path)
		}
		return err
	}))
	require.Positive(t, found)
}
