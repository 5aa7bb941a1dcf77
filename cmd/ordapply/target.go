package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// target is the cluster of a command.
type target struct {
	cluster  *kube.Kubernetes
	scope    apply.Scope
	home     string // namespace of the apply set's records, set by parent
	context  string // of the kubeconfig; "" in a Pod
	server   string
	warnings *warnings
}

// connect connects to the cluster that kubectl would use, and runs discovery.
// adjust may modify the client configuration.
func connect(ctx context.Context, flags *genericclioptions.ConfigFlags, adjust func(*rest.Config)) (*target, error) {
	known, err := readKubeconfig(ctx, flags)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, explainConfig(err)
	case known.empty:
		return nil, errNoCluster
	}
	config := known.config
	t := &target{server: config.Host, context: known.context, warnings: &warnings{}}
	config.WarningHandler = t.warnings
	adjust(config)
	log := verboseLogOf(ctx)
	log.requestsOf(config)
	ctx, done := activity.Start(ctx, "waiting for the API server at "+t.server+t.of()+" to list what it serves: check that it is up, and that this is the context you mean")
	defer done()
	t.cluster, err = startAsync(ctx, func() (*kube.Kubernetes, error) { return kube.Connect(config) })()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, t.explain(err)
	}
	log.printf(logDecisions, "the API server at %s%s serves %s", t.server, t.of(), plain.Count(len(t.cluster.StoredKinds()), "kind"))
	t.scope = apply.Scope{Namespace: known.namespace, Enforce: known.enforce, Kind: t.cluster.Kind}
	return t, nil
}

// undiscoveredNotes returns notes about group-versions that discovery could not read.
// An APIService whose backend is down affects only resources of its kinds.
func (t *target) undiscoveredNotes(stream *apply.Stream) []string {
	var notes []string
	for _, gv := range t.cluster.AllUnreadable() {
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

// unknownKindNotes returns a note about kinds that are waited for though neither the
// cluster nor the stream defines them. A missing operator is thus reported
// before the first write, and not only when --kind-timeout has passed.
func (f *applyFlags) unknownKindNotes(j session) []string {
	if f.kindTimeout <= 0 || f.dryRun != "none" {
		return nil
	}
	provided := map[object.ID]bool{}
	for _, s := range j.plan.Steps {
		provided[s.ID] = len(s.ProvidedBy) > 0
	}
	var kinds []string
	waiting := 0
	for _, r := range j.stream.Resources {
		gvk := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		_, served := j.target.cluster.Kind(gvk)
		if planned, ok := provided[r.ID]; !ok || planned || served || object.IsNative(r.Group) || j.target.cluster.Unreadable(gvk.GroupVersion()) != nil {
			continue
		}
		waiting++
		if name := r.ID.GroupKind(); !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	if waiting == 0 {
		return nil
	}
	slices.Sort(kinds)
	whose := "their kinds"
	if waiting == 1 {
		whose = "its kind"
	}
	return []string{fmt.Sprintf("neither the cluster nor the stream defines %s: %s will wait up to %s for %s while others are applied; --kind-timeout=0 fails before anything is written",
		strings.Join(kinds, ", "), plain.Count(waiting, "resource"), f.kindTimeout, whose)}
}

var errNoCluster = errors.New("no cluster: kubeconfig not found, or it names no cluster; set KUBECONFIG or --kubeconfig (sort and plan --dry-run=client need no cluster)")

func explainConfig(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return errNoCluster
	}
	return fmt.Errorf("the kubeconfig cannot be used: %w", err)
}

// explain adds server and context to the error of the first request.
func (t *target) explain(err error) error {
	var urlErr *url.Error
	switch {
	case pluginMissing(err) != "":
		return fmt.Errorf("the kubeconfig's user%s logs in with the program %s, which is not in PATH: install it", t.of(), pluginMissing(err))
	case kubeerr.CredentialsRefused(err):
		return fmt.Errorf("the API server at %s%s does not accept the credentials of your kubeconfig: log in again (%w)", t.server, t.of(), kubeerr.WithoutURL(err))
	case strings.Contains(err.Error(), "x509: "):
		return fmt.Errorf("the API server at %s%s presents a certificate that the certificate-authority of the kubeconfig does not match: get a new kubeconfig, or check for a proxy between you and the API server (%w)",
			t.server, t.of(), kubeerr.WithoutURL(err))
	}
	if errors.As(err, &urlErr) && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the API server at %s%s does not answer in time: check that it is up and not overloaded, and that this is the context you mean", t.server, t.of())
	}
	if urlErr != nil {
		return fmt.Errorf("the API server at %s%s does not answer: %w; check that the cluster is up, and that this is the context you mean", t.server, t.of(), urlErr.Err)
	}
	if why := refusal(t.server, err); why != "" {
		return fmt.Errorf("the API server at %s%s refused discovery: %s", t.server, t.of(), why)
	}
	return fmt.Errorf("the API server at %s%s refused discovery: %w", t.server, t.of(), err)
}

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

func (t *target) of() string {
	if t.context == "" {
		return ""
	}
	return " (context " + t.context + ")"
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

func (w *warnings) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}
