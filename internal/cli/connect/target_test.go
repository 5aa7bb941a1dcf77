package connect

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/kube"
)

// An API server that begins an answer and does not end it in time is reported as
// one that does not answer.
func TestAnAnswerThatDoesNotEnd(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{"))
		_ = http.NewResponseController(w).Flush()
		<-ended
	}))
	defer server.Close()
	defer close(ended)
	flags := genericclioptions.NewConfigFlags(true)
	limit := "100ms"
	flags.APIServer, flags.Timeout = &server.URL, &limit
	_, err := To(t.Context(), console.New(nil, io.Discard, io.Discard), flags)
	require.ErrorContains(t, err, "does not answer in time: check that it is up and not overloaded")
}

// An account with all permissions is asked about once, as soon as that is possible, and no list of
// permissions is made for it. One that lacks some is asked about each.
func TestPermissionsAreAskedAboutAhead(t *testing.T) {
	for name, all := range map[string]bool{"all permissions": true, "no permission": false} {
		t.Run(name, func(t *testing.T) {
			reviews := make(chan string, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch path.Base(r.URL.Path) {
				case "api":
					_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
				case "apis":
					_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
				case "v1":
					_, _ = io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["get","list","patch"]}]}`)
				case "selfsubjectaccessreviews":
					asked, _ := io.ReadAll(r.Body)
					reviews <- string(asked)
					_, _ = fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, all)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			flags := genericclioptions.NewConfigFlags(true)
			flags.APIServer = &server.URL
			target, err := To(t.Context(), console.New(nil, io.Discard, io.Discard), flags)
			require.NoError(t, err)
			target.AskPermissions(t.Context())
			require.Contains(t, <-reviews, `"verb":"*"`, "before the permissions are known")
			listed := false
			err = target.CheckPermissions(t.Context(), func() []kube.Permission {
				listed = true
				return []kube.Permission{{Verb: "patch", Resource: kube.CoreKind("configmaps").Resource, Namespace: "shop"}}
			})
			require.Equal(t, !all, listed)
			if all {
				require.NoError(t, err)
				require.Empty(t, reviews)
				return
			}
			require.ErrorContains(t, err, `may not patch configmaps in namespace "shop"`)
			require.Contains(t, <-reviews, `"verb":"patch"`)
		})
	}
}
