package plain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestField(t *testing.T) {
	require.Equal(t, "spec", Field("", "spec"))
	require.Equal(t, "rules[3].ready-when", Field(Item("rules", 3), "ready-when"))
	require.Equal(t, `metadata.labels["app.kubernetes.io/name"]`, Field(Field("metadata", "labels"), "app.kubernetes.io/name"))
	require.Equal(t, `data[""]`, Field("data", ""))
	item := map[string]any{"port": 80, "protocol": "TCP", "name": "a b"}
	require.Equal(t, `port=80,protocol=TCP,name="a b"`, ItemKeys([]string{"port", "protocol", "name"}, func(key string) any { return item[key] }))
}
