package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/recorder"
)

// phase is something that a command waits for, which never comes.
type phase struct {
	args  []string
	fits  func(*recorder.Request) bool // the requests that get no answer; nil: none
	doing string                       // what it was waiting for
}

// phases are all that a command may wait for. DIR, NS and URL stand for what each
// test has of its own.
func phases() map[string]phase {
	list := func(resource string) func(*recorder.Request) bool {
		return func(r *recorder.Request) bool {
			return r.Verb == "list" && r.Resource == resource && strings.Contains(r.URL.RawQuery, "labelSelector")
		}
	}
	set := []string{"apply", "-f", "DIR/new.yaml", "--applyset", "set", "-n", "NS", "--prune"}
	plain := []string{"apply", "-f", "DIR/new.yaml", "-n", "NS"}
	discovery := func(r *recorder.Request) bool { return r.Verb == "discovery" }
	return map[string]phase{
		"standard input":       {[]string{"apply", "-f", "-"}, nil, "reading standard input"},
		"delete from a pipe":   {[]string{"delete", "-f", "-"}, nil, "reading standard input"},
		"a FIFO":               {[]string{"apply", "-f", "DIR/fifo.yaml"}, nil, "reading DIR/fifo.yaml"},
		"a URL":                {[]string{"apply", "-f", "URL"}, nil, "reading URL"},
		"discovery":            {plain, discovery, "waiting for the API server at "},
		"discovery for delete": {[]string{"delete", "-f", "DIR/new.yaml", "-n", "NS"}, discovery, "waiting for the API server at "},
		"discovery to go back": {[]string{"rollback", "set", "-n", "NS"}, discovery, "waiting for the API server at "},
		"permissions":          {set, recorder.Verb("review", ""), "asking the API server what the account may do"},
		"parent":               {set, recorder.Verb("get", "secrets"), "reading secrets NS/set"},
		"lock":                 {set, recorder.Verb("get", "leases"), "reading leases.coordination.k8s.io NS/ordapply.secret.set"},
		"taking the lock":      {set, recorder.Verb("update", "leases"), "updating leases.coordination.k8s.io NS/ordapply.secret.set"},
		"history":              {set, list("secrets"), "listing secrets in namespace NS for the history"},
		"a new revision":       {set, recorder.Verb("create", "secrets"), "creating secrets NS/"},
		"the promise":          {set, recorder.Verb("patch", "secrets"), "applying secrets NS/set"},
		"prune":                {set, list("serviceaccounts"), "listing serviceaccounts in namespace NS for the prune"},
		"applying":             {plain, recorder.Verb("patch", "configmaps"), ""},
		"delete a set":         {[]string{"delete", "--applyset", "set", "-n", "NS"}, list("serviceaccounts"), "listing serviceaccounts in namespace NS"},
		"delete manifests":     {[]string{"delete", "-f", "DIR/old.yaml", "-n", "NS"}, recorder.Verb("list", "configmaps"), "listing configmaps in namespace NS"},
		"deleting":             {[]string{"delete", "-f", "DIR/old.yaml", "-n", "NS"}, recorder.Verb("delete", "serviceaccounts"), ""},
		"rollback":             {[]string{"rollback", "set", "-n", "NS", "--to-revision", "1"}, list("secrets"), "listing secrets in namespace NS"},
		"what there is so far": {plain, recorder.Verb("list", "configmaps"), ""},
	}
}

// hungPhase is a phase with all that its command needs.
type hungPhase struct {
	phase
	proxy *recorder.Proxy
	stdin io.Reader
	words *strings.Replacer

	late, ended outcomeOf // with --timeout, and by an interrupt
}

func newHungPhase(t *testing.T, lab chaosLab, namespace string, p phase, silent bool) *hungPhase {
	dir, web := t.TempDir(), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-web:
		}
	}))
	t.Cleanup(func() { close(web); server.Close() })
	object := func(kind, name string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s}\n---\n", kind, name)
	}
	for name, text := range map[string]string{
		"old": object("ConfigMap", "a") + object("ServiceAccount", "goes"), "new": object("ConfigMap", "a") + object("ConfigMap", "b"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo.yaml"), 0o600))
	open, _ := io.Pipe() // which is never written to
	h := &hungPhase{phase: p, proxy: recorder.Start(t, lab.cluster.Kubeconfig), stdin: open, words: strings.NewReplacer("DIR", dir, "NS", namespace, "URL", server.URL+"/app.yaml")}
	lab.create(t, "Namespace", "", namespace, nil)
	code, said := h.run(t.Context(), "apply", "-f", "DIR/old.yaml", "--applyset", "set", "-n", "NS")
	require.Equal(t, exitDone, code, said)
	answer, over := recorder.TooManyRequests("30"), make(chan struct{})
	if silent {
		answer = func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-over:
			}
		}
	}
	t.Cleanup(func() { close(over) })
	if p.fits != nil {
		h.proxy.Inject(recorder.Always(p.fits, answer))
	}
	return h
}

// run runs a command through the proxy.
func (h *hungPhase) run(ctx context.Context, args ...string) (int, string) {
	var all []string
	for _, arg := range args {
		all = append(all, h.words.Replace(arg))
	}
	return runOn(ctx, h.stdin, append(all, "--kubeconfig", h.proxy.Kubeconfig)...)
}

// --timeout bounds whatever a command waits for, also where the client would
// repeat a request for minutes; it ends with code 3, and says what it waited for.
// An interrupt ends each as well, with code 130.
func TestWhateverACommandWaitsFor(t *testing.T) {
	lab := newChaosLab(t, "", battered.Get(t))
	var waiting sync.WaitGroup
	places := make(chan struct{}, 12)
	tried := map[string]*hungPhase{}
	for name, p := range phases() {
		for _, silent := range []bool{false, true} {
			if silent && p.fits == nil {
				continue
			}
			h := newHungPhase(t, lab, fmt.Sprintf("waits-%d", len(tried)), p, silent)
			tried[fmt.Sprintf("%s, silent: %t", name, silent)] = h
			waiting.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				h.try(t.Context())
			})
		}
	}
	waiting.Wait()
	for name, h := range tried {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, exitTimedOut, h.late.code, h.late.said)
			require.Less(t, h.late.took, waits+15*time.Second, h.late.said)
			require.NotContains(t, h.late.said, "interrupted")
			if h.doing != "" {
				require.Contains(t, h.late.said, h.words.Replace("error: timed out after 4s (--timeout) while "+h.doing))
			}
			require.Equal(t, exitInterrupted, h.ended.code, h.ended.said)
			require.Less(t, h.ended.took, waits+15*time.Second, h.ended.said)
		})
	}
}

// waits is the --timeout of these tests: enough to come to what is waited for.
const waits = 4 * time.Second

// outcomeOf is how a command ended.
type outcomeOf struct {
	code int
	said string
	took time.Duration
}

// try lets the command wait until its timeout, and again until an interrupt.
func (h *hungPhase) try(ctx context.Context) {
	h.late = h.watched(ctx, append(h.args, "--timeout", waits.String())...)
	interrupted, interrupt := context.WithCancelCause(ctx)
	time.AfterFunc(waits, func() { interrupt(interruption{}) })
	h.ended = h.watched(interrupted, h.args...)
}

func (h *hungPhase) watched(ctx context.Context, args ...string) outcomeOf {
	begin := time.Now()
	code, said := h.run(ctx, args...)
	return outcomeOf{code, said, time.Since(begin)}
}
