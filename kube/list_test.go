package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// A long list comes in pages of one state of the cluster. When the API server has forgotten
// that state, the list is read again in one piece; a query with a limit is one page.
func TestListInPages(t *testing.T) {
	const objects = 2*chunkSize + 1
	for name, c := range map[string]struct {
		limit   int64
		expires bool // the second page does
		want    []int64
		found   int
	}{
		"pages":      {want: []int64{chunkSize, chunkSize, chunkSize}, found: objects},
		"forgotten":  {expires: true, want: []int64{chunkSize, chunkSize, 0}, found: objects},
		"with limit": {limit: 7, want: []int64{7}, found: 7},
	} {
		t.Run(name, func(t *testing.T) {
			var limits []int64
			server := func(_ context.Context, _ Kind, _ string, options metav1.ListOptions) ([]*unstructured.Unstructured, string, error) {
				require.Equal(t, "app=shop", options.LabelSelector)
				limits = append(limits, options.Limit)
				if c.expires && options.Continue != "" {
					return nil, "", apierrors.NewResourceExpired("too old")
				}
				from := 0
				_, _ = fmt.Sscan(options.Continue, &from)
				to, next := objects, ""
				if options.Limit > 0 && from+int(options.Limit) < objects {
					to = from + int(options.Limit)
					next = fmt.Sprint(to)
				}
				return make([]*unstructured.Unstructured, to-from), next, nil
			}
			found, err := Query{Labels: "app=shop", Limit: c.limit}.list(t.Context(), Kind{}, "", server)
			require.NoError(t, err)
			require.Len(t, found, c.found)
			require.Equal(t, c.want, limits)
		})
	}
}

// A list that need not be the latest names a version on its first page only. Where the API server
// has no such version yet, the latest state is listed.
func TestListNotOlderThan(t *testing.T) {
	for name, behind := range map[string]bool{"a cache that has the version": false, "a cache that is behind": true} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				asked = append(asked, q.Get("resourceVersion")+" "+q.Get("resourceVersionMatch")+" "+q.Get("continue"))
				w.Header().Set("Content-Type", "application/json")
				switch {
				case behind && q.Get("resourceVersion") != "":
					w.Header().Set("Retry-After", "1") // as the API server does
					w.WriteHeader(http.StatusGatewayTimeout)
					_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Timeout", "code": 504,
						"message": "Too large resource version: 7, current: 5", "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}}`))
				case q.Get("continue") == "":
					_, _ = w.Write([]byte(`{"kind": "SecretList", "apiVersion": "v1", "metadata": {"continue": "more"}, "items": [{"metadata": {"name": "a"}}]}`))
				default:
					_, _ = w.Write([]byte(`{"kind": "SecretList", "apiVersion": "v1", "items": [{"metadata": {"name": "b"}}]}`))
				}
			}))
			defer server.Close()
			connection, err := connect(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			k := &Kubernetes{clients: connection.clients(connection.shared)}
			found, err := k.List(t.Context(), CoreKind("secrets"), "shop", Query{NotOlderThan: "7"})
			require.NoError(t, err)
			require.Len(t, found, 2)
			want := []string{"7 NotOlderThan ", "  more"}
			if behind {
				want = []string{"7 NotOlderThan ", "  ", "  more"}
			}
			require.Equal(t, want, asked)
		})
	}
}

// Metadata is converted as the library does; equal managedFields are one list.
func TestSharedFields(t *testing.T) {
	item := func(name, fields string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate},
			{Manager: "ordapply", Operation: metav1.ManagedFieldsOperationApply, Time: &metav1.Time{Time: time.Unix(1, 0)}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)},
		}}}
	}
	shared := &sharedFields{}
	for name, fields := range map[string]string{"a": `{"f:data":{"f:x":{}}}`, "b": `{"f:data":{"f:x":{}}}`, "c": `{"f:data":{"f:y":{}}}`} {
		want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item(name, fields))
		require.NoError(t, err)
		got, err := shared.convert(item(name, fields))
		require.NoError(t, err)
		require.Equal(t, want, got.Object)
	}
	require.Len(t, shared.managed, 2)
	_, err := shared.convert(item("broken", "{"))
	require.Error(t, err)
	for _, app := range []string{"a", "a", "b"} {
		one := item(app, "{}")
		one.Labels = map[string]string{"app": app}
		got, err := shared.convert(one)
		require.NoError(t, err)
		require.Equal(t, one.Labels, got.GetLabels())
	}
}

// Metadata with and without each field is what the library makes of it.
func TestConvertedMetadata(t *testing.T) {
	now, grace := metav1.NewTime(time.Unix(1, 0)), int64(30)
	whole := metav1.ObjectMeta{
		Name: "a", GenerateName: "a-", Namespace: "shop", UID: "u", ResourceVersion: "1", Generation: 2,
		CreationTimestamp: now, DeletionTimestamp: &now, DeletionGracePeriodSeconds: &grace,
		Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"note": "", "other": "x"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "q"}}, Finalizers: []string{"f"},
	}
	all := reflect.ValueOf(whole)
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		require.True(t, name == "ManagedFields" || name == "SelfLink" || !all.Field(i).IsZero(), "the test leaves out %s", name)
		one, without := metav1.ObjectMeta{}, whole
		reflect.ValueOf(&one).Elem().Field(i).Set(all.Field(i))
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		for _, m := range []metav1.ObjectMeta{one, without, whole} {
			want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.PartialObjectMetadata{ObjectMeta: m})
			require.NoError(t, err)
			got, err := (&sharedFields{}).convert(&metav1.PartialObjectMetadata{ObjectMeta: m})
			require.NoError(t, err)
			require.Equal(t, want, got.Object, name)
		}
	}
}
