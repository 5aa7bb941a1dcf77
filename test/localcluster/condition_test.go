package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConditions(t *testing.T) {
	secret := map[string]any{"data": map[string]any{"tls.crt": "x", "ca": ""}}
	status := map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False"},
		map[string]any{"type": "Available", "status": "True", "reason": "Passed"},
	}}
	for path, want := range map[string]any{
		`.data.tls\.crt`:             "x",
		`.data.ca`:                   "",
		`.data.none.of`:              nil,
		`.status.conditions[1].type`: "Available",
		`.status.conditions[2].type`: nil,
		`.status.conditions[type=Available,status=True].reason`: "Passed",
		`.status.conditions[type=Ready,status=True]`:            nil,
		`.status.conditions[type=Ready].status`:                 "False",
		`.status.conditions.type`:                               nil,
	} {
		c, err := parseCondition("Secret shop/certs " + path)
		require.NoError(t, err)
		require.Equal(t, target{"Secret", "shop", "certs"}, c.target)
		require.Equal(t, want, valueAt(map[string]any{"data": secret["data"], "status": status}, c.path), path)
	}
	for _, empty := range []any{nil, "", 0.0, false, []any{}, map[string]any{}} {
		require.True(t, isEmpty(empty), "%v", empty)
	}
	for text, want := range map[string]string{
		"Secret":                 `"Secret" is not KIND [NAMESPACE/]NAME [.PATH]`,
		"Secret a/b data.ca":     `"data.ca": a path is written .FIELD.LIST[0].FIELD`,
		"Secret a/b .data.ca or": `"Secret a/b .data.ca or" is not KIND [NAMESPACE/]NAME [.PATH]`,
	} {
		_, err := parseCondition(text)
		require.EqualError(t, err, want)
	}
}

func TestWrites(t *testing.T) {
	w, err := parseWrite(`status APIService v1.example.com {"phase": "a {b} c"}`)
	require.NoError(t, err)
	require.Equal(t, target{kind: "APIService", name: "v1.example.com"}, w.target)
	require.Equal(t, object{"phase": "a {b} c"}, w.body)
	w, err = parseWrite(`patch CustomResourceDefinition things.example.com {"spec": {}}`)
	require.NoError(t, err)
	require.Equal(t, write{verb: "patch", target: parseTarget("CustomResourceDefinition", "things.example.com"), body: object{"spec": map[string]any{}}}, w)
	w, err = parseWrite(`create {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web"}}`)
	require.NoError(t, err)
	require.Equal(t, target{"Deployment.apps", "shop", "web"}, w.target)
	for _, text := range []string{"", "caBundle CustomResourceDefinition", "Secret a/b", "Lease a b", "create", "status Pod a/b", "status Pod a/b true", `status Pod a/b {"a"`} {
		_, err := parseWrite(text)
		require.Error(t, err, text)
	}
}

func TestContains(t *testing.T) {
	status := map[string]any{"phase": "Ready", "replicas": 3.0, "nested": map[string]any{"a": 1.0, "b": 2.0}}
	require.True(t, contains(status, map[string]any{"phase": "Ready", "nested": map[string]any{"b": 2.0}}))
	require.False(t, contains(status, map[string]any{"nested": map[string]any{"c": 3.0}}))
	require.False(t, contains(nil, map[string]any{"phase": "Ready"}))
	require.True(t, contains(nil, map[string]any{}))
}
