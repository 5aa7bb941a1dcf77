package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/version"
	"github.com/ordapply/ordapply/kube"
)

// Target is the cluster of a command.
type Target struct {
	Cluster          *kube.Kubernetes
	Schemas          openapi.Client // of the cluster
	Scope            apply.Scope
	RecordsNamespace string // namespace of the apply set's records, set by parent
	GivenNamespace   string // of -n; "" without it
	Context          string // of the kubeconfig; "" in a Pod
	Server           string
	Warnings         *warnings
	user             string // of the kubeconfig; "" in a Pod
	// needsNoReview waits for the answer to AskPermissions, for one check; nil: it was not called.
	needsNoReview func() (bool, error)
}

// To connects to the cluster that kubectl would use, and runs discovery.
// adjust may modify the client configuration.
func To(ctx context.Context, c *console.Console, flags *genericclioptions.ConfigFlags, adjust ...func(*rest.Config)) (*Target, error) {
	known, err := readKubeconfig(ctx, flags)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, explainConfig(err)
	case known.empty:
		return nil, ErrNoCluster
	}
	config := known.config
	t := &Target{Server: config.Host, Context: known.Context, user: known.user, Warnings: &warnings{}}
	config.WarningHandler, config.UserAgent = t.Warnings, version.Own("ordapply").UserAgent()
	for _, do := range adjust {
		do(config)
	}
	c.Log.RequestsOf(config)
	ctx, done := activity.Start(ctx, "waiting for the API server at "+t.String()+" to list what it serves: check that it is up, and that this is the context you mean")
	defer done()
	t.Cluster, err = abortable.Start(ctx, func() (*kube.Kubernetes, error) { return kube.Connect(config) })()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, t.Explain(err)
	}
	t.Schemas = schemasOf(ctx, t.Cluster, deref(flags.CacheDir), config.Host)
	c.Log.Printf(console.Decisions, "the API server at %s serves %s", t, plain.Count(len(t.Cluster.StoredKinds()), "kind"))
	t.Scope = apply.Scope{Namespace: known.Namespace, Enforce: known.enforce, Kind: t.Cluster.Kind}
	if known.enforce {
		t.GivenNamespace = known.Namespace
	}
	return t, nil
}

// UndiscoveredNotes returns notes about group-versions that discovery could not read.
// An APIService whose backend is down affects only resources of its kinds.
func (t *Target) UndiscoveredNotes(stream *apply.Stream) []string {
	var notes []string
	for _, gv := range t.Cluster.AllUnreadable() {
		note := fmt.Sprintf("the backend of %s does not answer (kubectl describe apiservice %s.%s)", gv, gv.Version, gv.Group)
		users := 0
		for _, r := range stream.Resources {
			if r.Group == gv.Group && r.Version == gv.Version {
				users++
			}
		}
		if users == 0 {
			note += "; no resource of this stream needs it"
		} else {
			note += "; " + plain.Count(users, "resource") + " of this stream will wait for it"
		}
		notes = append(notes, note)
	}
	return notes
}

// ErrNoCluster says that no kubeconfig names a cluster.
var ErrNoCluster = errors.New("no cluster: kubeconfig not found, or it names no cluster; set KUBECONFIG or --kubeconfig (sort and plan --dry-run=client need no cluster)")

func explainConfig(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return ErrNoCluster
	}
	return fmt.Errorf("the kubeconfig cannot be used: %w", err)
}

// Explain adds server and context to the error of the first request.
func (t *Target) Explain(err error) error {
	var urlErr *url.Error
	switch {
	case pluginMissing(err) != "":
		return fmt.Errorf("the kubeconfig's user%s logs in with the program %s, which is not in PATH: install it", t.inContext(), pluginMissing(err))
	case fault.CredentialsRefused(err):
		return fmt.Errorf("the API server at %s does not accept the credentials of your kubeconfig: log in again (%w)", t, fault.LogInError{Err: fault.WithoutURL(err)})
	case strings.Contains(err.Error(), "x509: "):
		return fmt.Errorf("the API server at %s presents a certificate that the certificate-authority of the kubeconfig does not match: get a new kubeconfig, or check for a proxy between you and the API server (%w)",
			t, fault.WithoutURL(err))
	}
	if errors.Is(err, context.DeadlineExceeded) { // also while an answer is read
		return &UnreachableError{fmt.Errorf("the API server at %s does not answer in time: check that it is up and not overloaded, and that this is the context you mean", t)}
	}
	if errors.As(err, &urlErr) {
		return &UnreachableError{fmt.Errorf("the API server at %s does not answer: %w; check that the cluster is up, and that this is the context you mean", t, urlErr.Err)}
	}
	if why := refusal(t.Server, err); why != "" {
		return fmt.Errorf("the API server at %s refused discovery: %s", t, why)
	}
	return fmt.Errorf("the API server at %s refused discovery: %w", t, err)
}

// UnreachableError reports an API server that did not answer.
type UnreachableError struct{ err error }

// Error names the API server.
func (e *UnreachableError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.err }

// refusal explains errors for which client-go's message is not enough; "" for
// others.
func refusal(server string, err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "403 Forbidden: the kubeconfig's user has no credentials, or the account lacks the ClusterRole system:discovery"
	case apierrors.IsNotFound(err):
		return "404 Not Found: no API server at this address; check cluster.server in the kubeconfig, including its path"
	case apierrors.IsBadRequest(err) && strings.HasPrefix(server, "http://"):
		return "400 Bad Request: it may expect https, and the kubeconfig's cluster.server says http"
	}
	return ""
}

// pluginMissing returns the name of the kubeconfig's credential plugin if it is
// not installed, or "".
func pluginMissing(err error) string {
	_, rest, found := strings.Cut(err.Error(), "getting credentials: exec: executable ")
	name, _, missing := strings.Cut(rest, " not found")
	if !found || !missing || strings.Contains(name, " failed with ") {
		return ""
	}
	return name
}

// String returns the address of the API server and the context of the kubeconfig.
func (t *Target) String() string {
	return t.Server + t.inContext()
}

// inContext returns " (context NAME)", or "" in a Pod.
func (t *Target) inContext() string {
	if t.Context == "" {
		return ""
	}
	return " (context " + t.Context + ")"
}

// warnings collects the API server's warnings without duplicates.
type warnings struct {
	mu    sync.Mutex // called from the goroutines of all requests
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text != "" && !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

func (w *warnings) List() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

// AskPermissions starts to ask whether the account has all permissions, so that the next
// CheckPermissions need not wait for the answer.
func (t *Target) AskPermissions(ctx context.Context) {
	t.needsNoReview = abortable.Start(ctx, func() (bool, error) { return access.NeedsNoReview(ctx, t.Cluster), nil })
}

// CheckPermissions returns an error if permissions are missing. It is called before the
// first write. flags are the flags with which rbac prints the required roles.
func (t *Target) CheckPermissions(ctx context.Context, required func() []kube.Permission, flags ...string) error {
	ctx, done := activity.Start(ctx, "checking permissions with the API server")
	defer done()
	if t.needsNoReview == nil {
		t.AskPermissions(ctx)
	}
	all, err := t.needsNoReview()
	t.needsNoReview = nil // a later check asks again
	if err == nil && !all {
		err = access.CheckEach(ctx, t.Cluster, required())
	}
	if err != nil && ctx.Err() != nil {
		return abortable.Cause(ctx)
	}
	var denied *access.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	if t.Scope.Enforce {
		flags = append(flags, "-n", t.Scope.Namespace)
	}
	return errors.Join(err, errors.New("nothing was written; "+RolesHint(denied.User, flags...)))
}

// RolesHint names the command that prints the Roles for an account that lacks
// permissions: rbac with these flags. user is the account; "" if it is unknown.
func RolesHint(user string, flags ...string) string {
	flags = append(flags, bindingFlags(user)...)
	return "print the required Roles with: ordapply rbac " + strings.Join(flags, " ")
}

// bindingFlags returns rbac's flags for an account.
func bindingFlags(account string) []string {
	if name, ok := strings.CutPrefix(account, "system:serviceaccount:"); ok {
		return []string{"--service-account", strings.Replace(name, ":", "/", 1)}
	}
	if account == "" {
		return nil
	}
	return []string{"--user", account}
}

// ServedKinds returns the kinds that the cluster serves, in the notation of
// options; nil without a cluster.
func (t *Target) ServedKinds() []string {
	if t == nil {
		return nil
	}
	var kinds []string
	for _, gvk := range t.Cluster.StoredKinds() {
		kinds = append(kinds, gvk.GroupKind().String())
	}
	return kinds
}

// userTimeout is the maximum time that User waits for the API server.
const userTimeout = 3 * time.Second

// User returns the account as the API server knows it, with one request; if that fails,
// the user of the kubeconfig, which may be "".
func (t *Target) User(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, userTimeout)
	defer cancel()
	return cmp.Or(t.Cluster.User(ctx), t.user)
}
