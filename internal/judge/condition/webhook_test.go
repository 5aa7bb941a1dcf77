package condition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/judge/condition"
)

func TestMatchConditions(t *testing.T) {
	evaluate := condition.MatchConditions()
	variables := map[string]any{
		"object":    map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{"hostNetwork": true}},
		"oldObject": nil,
		"request":   map[string]any{"operation": "CREATE"},
	}
	for expression, want := range map[string][2]bool{
		`object.metadata.labels["app"] == "web"`:                       {true, true},
		`has(object.spec.hostNetwork) && !object.spec.hostNetwork`:     {false, true},
		`request.operation in ["UPDATE"]`:                              {false, true},
		`oldObject == null`:                                            {true, true},
		`object.?metadata.labels.app.orValue("") != "db"`:              {true, true},
		`object.spec.nodeName == "a"`:                                  {false, false}, // no such field
		`request.userInfo.username.startsWith("system:node:")`:         {false, false},
		`authorizer.group("").resource("pods").check("get").allowed()`: {false, false},
		`object.metadata.name`:                                         {false, false},
		`not CEL`:                                                      {false, false},
	} {
		holds, known := evaluate(expression, variables)
		require.Equal(t, want, [2]bool{holds, known}, expression)
	}
}
