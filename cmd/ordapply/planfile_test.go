package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/plan"
)

// apply has each flag that a plan file sets.
func TestApplyHasTheFlagsOfPlanFiles(t *testing.T) {
	for _, name := range plan.StoredFlags() {
		require.NotNil(t, newApply().Flags().Lookup(name), name)
	}
}
