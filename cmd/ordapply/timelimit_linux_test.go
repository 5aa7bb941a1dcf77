package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// phase is something that a command waits for and that never comes.
type phase struct {
	args  []string
	fits  func(*recorder.Request) bool // the requests without a response; nil for none
	doing string                       // the step it was at
}

// phases returns all waits of a command. DIR, NS and URL are placeholders for values of
// each test.
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
		"permissions":          {set, recorder.Verb("review", ""), "checking permissions with the API server"},
		"parent":               {set, recorder.Verb("get", "secrets"), "reading secrets NS/set"},
		"lock":                 {set, recorder.Verb("get", "leases"), "reading leases.coordination.k8s.io NS/ordapply.secret.set"},
		"taking the lock":      {set, recorder.Verb("update", "leases"), "updating leases.coordination.k8s.io NS/ordapply.secret.set"},
		"history":              {set, list("secrets"), "listing secrets in namespace NS for the history"},
		"a new revision":       {set, recorder.Verb("create", "secrets"), "creating secrets NS/"},
		"the promise":          {set, recorder.Verb("patch", "secrets"), "applying secrets NS/set"},
		"prune":                {set, list("serviceaccounts"), "listing serviceaccounts in namespace NS for the prune"},
		"pruning":              {set, recorder.Verb("delete", "serviceaccounts"), ""},
		"applying":             {set, recorder.Verb("patch", "configmaps"), ""},
		"delete a set":         {[]string{"delete", "--applyset", "set", "-n", "NS"}, list("serviceaccounts"), "listing serviceaccounts in namespace NS"},
		"delete manifests":     {[]string{"delete", "-f", "DIR/old.yaml", "-n", "NS"}, recorder.Verb("list", "configmaps"), "listing configmaps in namespace NS"},
		"deleting":             {[]string{"delete", "-f", "DIR/old.yaml", "-n", "NS"}, recorder.Verb("delete", "serviceaccounts"), ""},
		"rollback":             {[]string{"rollback", "set", "-n", "NS", "--to-revision", "1"}, list("secrets"), "listing secrets in namespace NS"},
		"what there is so far": {plain, recorder.Verb("list", "configmaps"), ""},
	}
}

// hungPhase is a phase with everything that its command needs.
type hungPhase struct {
	phase
	proxy *recorder.Proxy
	stdin io.Reader
	words *strings.Replacer

	late, ended commandResult // with --timeout, and by an interrupt
}

func newHungPhase(t *testing.T, cluster *testcluster.Cluster, namespace string, p phase, silent bool) *hungPhase {
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
	open, _ := io.Pipe() // never written to
	h := &hungPhase{phase: p, proxy: recorder.Start(t, cluster.Kubeconfig), stdin: open, words: strings.NewReplacer("DIR", dir, "NS", namespace, "URL", server.URL+"/app.yaml")}
	cluster.Kubectl(t, "create", "namespace", namespace)
	code, output := h.run(t.Context(), "apply", "-f", "DIR/old.yaml", "--applyset", "set", "-n", "NS")
	require.Equal(t, report.ExitDone, code, output)
	answer, over := recorder.TooManyRequests("30"), make(chan struct{})
	if silent {
		answer = func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-over:
			}
			panic(http.ErrAbortHandler) // returning would answer 200
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

// --timeout limits everything that a command waits for, even if the client would retry a
// request for minutes; the command exits with code 3 and names the step. An interrupt ends
// each wait with code 130.
func TestTimeoutOfEveryRequest(t *testing.T) {
	cluster := battered.Get(t)
	var waiting sync.WaitGroup
	places := make(chan struct{}, 20)
	tried := map[string]*hungPhase{}
	for name, p := range phases() {
		for _, silent := range []bool{false, true} {
			if silent && p.fits == nil {
				continue
			}
			h := newHungPhase(t, cluster, fmt.Sprintf("waits-%d", len(tried)), p, silent)
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
			require.Equal(t, report.ExitTimedOut, h.late.code, h.late.output)
			require.Less(t, h.late.took, waits+15*time.Second, h.late.output)
			require.NotContains(t, h.late.output, "interrupted")
			if h.doing != "" {
				require.Contains(t, h.late.output, h.words.Replace("error: timed out after "+waits.String()+" (--timeout) while "+h.doing))
			}
			require.Equal(t, report.ExitInterrupted, h.ended.code, h.ended.output)
			require.Less(t, h.ended.took, waits+15*time.Second, h.ended.output)
		})
	}
}

// Every file that a flag names may be a FIFO without a writer: --timeout ends
// reading it with code 3 and the file's name, for commands that have the flag,
// and an interrupt with code 130.
func TestTimeoutOfEveryFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	fifo := func(name string) string {
		path := write(name, "")
		require.NoError(t, os.Remove(path))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		return path
	}
	app := write("app.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
	cluster := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'%s}}]\nusers: [{name: u, user: {token: t}}]\n"
	write("kubeconfig", fmt.Sprintf(cluster, ""))
	named := write("named", fmt.Sprintf(cluster, ", certificate-authority: fifo"))
	one, chart, packed, lua := fifo("fifo"), fifo("chart/Chart.yaml"), fifo("packed/charts/db.tgz"), fifo("lua/apps/Deployment/health.lua")
	listed := fifo("folder/kustomization.yaml")

	apply := []string{"apply", "-f", app}
	var waiting sync.WaitGroup
	tried := map[string]*readPhase{}
	for name, c := range map[string]struct {
		args  []string
		doing string // the slow step; "" if the command has no --timeout
	}{
		"plan":                       {[]string{"apply", "--plan", one}, one + " (--plan)"},
		"plan, -o json":              {[]string{"apply", "-o", "json", "--metrics-file", filepath.Join(dir, "metrics"), "--plan", one}, one + " (--plan)"},
		"order":                      {append(apply, "--order", one), one + " (--order)"},
		"order of delete":            {[]string{"delete", "-f", app, "--order", one}, one + " (--order)"},
		"order of sort":              {[]string{"sort", "-f", app, "--order", one}, ""},
		"order of health":            {[]string{"health", "-f", app, "--order", one}, ""},
		"config":                     {append(apply, "--config", one), one + " (--config)"},
		"config, -o json":            {append(apply, "--config", one, "--metrics-file", filepath.Join(dir, "metrics"), "-o", "json"), one + " (--config)"},
		"kubeconfig":                 {append(apply, "--kubeconfig", one), "the kubeconfig " + one + " (--kubeconfig)"},
		"kubeconfig, --metrics-file": {append(apply, "--kubeconfig", one, "--metrics-file", filepath.Join(dir, "metrics")), "the kubeconfig " + one + " (--kubeconfig)"},
		"kubeconfig of delete":       {[]string{"delete", "-f", app, "--kubeconfig", one}, "the kubeconfig " + one + " (--kubeconfig)"},
		"kubeconfig of rollback":     {[]string{"rollback", "set", "--kubeconfig", one}, "the kubeconfig " + one + " (--kubeconfig)"},
		"kubeconfig of status":       {[]string{"status", "set", "--kubeconfig", one}, ""},
		"kubeconfig of rbac":         {[]string{"rbac", "-f", app, "--user", "jane", "--kubeconfig", one}, ""},
		"file in the kubeconfig":     {append(apply, "--kubeconfig", named), "the kubeconfig " + named + " (--kubeconfig) and the files that it names"},
		"certificate-authority":      {append(apply, "--certificate-authority", one), one + " (--certificate-authority)"},
		"client-certificate":         {append(apply, "--client-certificate", one, "--client-key", app), one + " (--client-certificate)"},
		"client-key":                 {append(apply, "--client-certificate", app, "--client-key", one), one + " (--client-key)"},
		"health-rules":               {append(apply, "--health-rules", one), one + " (--health-rules)"},
		"argocd-cm":                  {append(apply, "--argocd-cm", one), one + " (--argocd-cm)"},
		"argocd-health":              {append(apply, "--argocd-health", filepath.Join(dir, "lua")), lua + " (--argocd-health)"},
		"chart":                      {append(apply, "--chart", filepath.Dir(chart)), chart + " (--chart)"},
		"packed chart":               {append(apply, "--chart", filepath.Join(dir, "packed")), packed + " (--chart)"},
		"filename":                   {[]string{"apply", "-f", one}, one},
		"filename of sort":           {[]string{"sort", "-f", one, "--order", write("order.yaml", "{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: o}, sortOrder: [{layer: l, kind: ConfigMap}]}")}, ""},
		"filename of health":         {[]string{"health", "-f", one}, ""},
		"a kustomization in -f":      {[]string{"apply", "-f", filepath.Dir(listed)}, listed},
	} {
		p := &readPhase{args: c.args, doing: c.doing}
		if c.args[0] == "apply" && !slices.Contains(c.args, "--kubeconfig") {
			p.args = append(slices.Clone(c.args), "--kubeconfig", filepath.Join(dir, "kubeconfig"))
		}
		tried[name] = p
		waiting.Go(func() { p.try(t.Context()) })
	}
	waiting.Wait()
	for name, p := range tried {
		t.Run(name, func(t *testing.T) {
			if p.doing != "" {
				require.Equal(t, report.ExitTimedOut, p.late.code, p.late.output)
				require.Less(t, p.late.took, reads+15*time.Second, p.late.output)
				require.Contains(t, p.late.output, "error: timed out after "+reads.String()+" (--timeout) while reading ")
				require.Contains(t, p.late.output, p.doing)
			}
			require.Equal(t, report.ExitInterrupted, p.ended.code, p.ended.output)
			require.Less(t, p.ended.took, reads+15*time.Second, p.ended.output)
			require.Contains(t, p.ended.output, "interrupted")
		})
	}
}

// reads is the --timeout of TestTimeoutOfEveryFile: enough to get to the
// file.
const reads = 6 * time.Second

// readPhase is a command that reads a FIFO.
type readPhase struct {
	args        []string
	doing       string
	late, ended commandResult // with --timeout, and by an interrupt
}

// try lets the command wait until its timeout, and again until an interrupt.
func (p *readPhase) try(ctx context.Context) {
	if p.doing != "" {
		p.late = reading(ctx, append(slices.Clone(p.args), "--timeout", reads.String())...)
	}
	interrupted, interrupt := context.WithCancelCause(ctx)
	time.AfterFunc(reads, func() { interrupt(abortable.Interruption{}) })
	p.ended = reading(interrupted, p.args...)
}

func reading(ctx context.Context, args ...string) commandResult {
	begin := time.Now()
	code, output := runOn(ctx, http.NoBody, args...)
	return commandResult{code, output, time.Since(begin)}
}

// The --timeout for reading the config file may be in the environment. A value
// in the file is measured from reading it.
func TestTheTimeoutOfReadingTheConfigFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	t.Setenv("ORDAPPLY_TIMEOUT", "300ms")
	t.Setenv("ORDAPPLY_CONFIG", fifo)
	code, output := runOn(t.Context(), http.NoBody, "apply", "-f", "app.yaml")
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Contains(t, output, "error: timed out after 300ms (--timeout) while reading "+fifo+" (ORDAPPLY_CONFIG)")

	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte("timeout: 200ms\n"), 0o600))
	t.Setenv("ORDAPPLY_TIMEOUT", "")
	t.Setenv("ORDAPPLY_CONFIG", config)
	code, output = runOn(t.Context(), http.NoBody, "apply", "-f", fifo)
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Contains(t, output, "error: timed out after 200ms (--timeout) while reading "+fifo)
}

// waits is the --timeout of these tests: enough to get to the wait.
const waits = 10 * time.Second

// commandResult is the result of a command.
type commandResult struct {
	code   int
	output string
	took   time.Duration
}

// try lets the command wait until its timeout, and again until an interrupt.
func (h *hungPhase) try(ctx context.Context) {
	h.late = h.watched(ctx, append(h.args, "--timeout", waits.String())...)
	interrupted, interrupt := context.WithCancelCause(ctx)
	time.AfterFunc(waits, func() { interrupt(abortable.Interruption{}) })
	h.ended = h.watched(interrupted, h.args...)
}

func (h *hungPhase) watched(ctx context.Context, args ...string) commandResult {
	begin := time.Now()
	code, output := h.run(ctx, args...)
	return commandResult{code, output, time.Since(begin)}
}
