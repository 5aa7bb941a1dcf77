package redact

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestErrorsHoldNoSecretValues(t *testing.T) {
	secret := func(fields map[string]any) *unstructured.Unstructured {
		fields["apiVersion"], fields["kind"] = "v1", "Secret"
		return &unstructured.Unstructured{Object: fields}
	}
	for name, c := range map[string]struct {
		obj        *unstructured.Unstructured
		says, want string
	}{
		"a value of the wrong type": {
			secret(map[string]any{"data": map[string]any{"pin": int64(7)}}),
			".data.pin: expected string, got &value.valueUnstructured{Value:7}",
			".data.pin: expected string, got another type",
		},
		"plain, where the manifest has base64": {
			secret(map[string]any{"data": map[string]any{"password": "aHVudGVyMg=="}}),
			`"hunter2" is refused, as is "aHVudGVyMg=="`, `"(value of a Secret)" is refused, as is "(value of a Secret)"`,
		},
		"base64, where the manifest is plain": {
			secret(map[string]any{"stringData": map[string]any{"password": "hunter2!"}}),
			"cannot read aHVudGVyMiE=", "cannot read (value of a Secret)",
		},
		"a list": {
			secret(map[string]any{"stringData": []any{"hunter2"}}),
			"hunter2 and what is in hunter22", "(value of a Secret) and what is in (value of a Secret)2",
		},
		"one value in another": {
			secret(map[string]any{"stringData": map[string]any{"a": "hunter", "b": "hunter-and-more"}}),
			"hunter-and-more", "(value of a Secret)",
		},
		"words of names and of the server": {
			secret(map[string]any{
				"metadata":   map[string]any{"name": "admin-creds", "namespace": "secret"},
				"stringData": map[string]any{"password": "secret", "user": "admin", "ns": "value", "w": "Invalid", "of": "of a S", "m": "metadata"},
			}),
			`Secret "admin-creds" is invalid: metadata.labels: Invalid value: "not ok": a valid value must consist of alphanumerics, in "secret"`,
			`Secret "admin-creds" is invalid: metadata.labels: Invalid value: "not ok": a valid value must consist of alphanumerics, in "secret"`,
		},
		"short ones given as values": {
			secret(map[string]any{"metadata": map[string]any{"name": "abc"}, "stringData": map[string]any{"a": "abc", "b": "x", "n": int64(5), "pin": "a17"}}),
			`Secret "abc" is invalid: [data.a: Invalid value: "abc", data.n: Invalid value: 5: an index of 5, "x" and a17 of a171]`,
			`Secret "abc" is invalid: [data.a: Invalid value: "(value of a Secret)", data.n: Invalid value: (value of a Secret): an index of 5, "(value of a Secret)" and (value of a Secret) of a171]`,
		},
		"as it is quoted": {
			secret(map[string]any{"stringData": map[string]any{"key": "one\ntwo"}}),
			`Invalid value: "one\ntwo": no`, `Invalid value: "(value of a Secret)": no`,
		},
		"no Secret": {
			&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "hunter2"}}},
			"hunter2", "hunter2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.EqualError(t, Error(c.obj, errors.New(c.says)), c.want)
		})
	}
	refused := apierrors.NewInternalError(errors.New("hunter2"))
	require.True(t, apierrors.IsInternalError(Error(secret(map[string]any{"stringData": map[string]any{"a": "hunter2"}}), refused)), "the cause still decides")
}
