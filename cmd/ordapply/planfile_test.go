package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plandiff"
)

// apply has each flag that a plan file sets.
func TestApplyHasTheFlagsOfPlanFiles(t *testing.T) {
	for _, name := range plandiff.StoredFlags() {
		require.NotNil(t, newApply().Flags().Lookup(name), name)
	}
}
