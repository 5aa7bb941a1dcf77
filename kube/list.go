package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// An API server answers LISTs from a watch cache of the kind and version. While that
// cache is not ready, it refuses them with 429, except for LISTs with a limit and
// without selectors, which it reads from etcd (KEP-4568). A cache is not ready while the
// API server starts; that of a version to which a conversion webhook cannot convert
// never is, and only the LIST from etcd returns the webhook's error.

// pageSize is the limit of a LIST that is read from etcd, and chunkSize that of others: a long
// answer takes several times the memory of its objects.
const pageSize, chunkSize = 500, 2000

// List implements Cluster.
func (k *Kubernetes) List(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error) {
	ctx, done := startActivity(ctx, "listing", kind, namespace, "")
	defer done()
	from := k.clients
	if query.Quiet {
		from = k.quiet
	}
	list := from.listObjects
	if query.Metadata {
		list = from.listMetadata
	}
	objects, err := query.list(ctx, kind, namespace, list)
	if err != nil && query.NotOlderThan != "" && ctx.Err() == nil { // the API server's cache may be far behind
		query.NotOlderThan = ""
		objects, err = query.list(ctx, kind, namespace, list)
	}
	if !isCacheUnready(err) {
		return objects, err
	}
	matches, ok := query.matcher()
	if !ok {
		return nil, err
	}
	all, err := allPages(ctx, kind, namespace, list, metav1.ListOptions{Limit: pageSize})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(obj *unstructured.Unstructured) bool { return !matches(obj) }), nil
}

// list lists the objects that the query selects.
func (q Query) list(ctx context.Context, kind Kind, namespace string, list lister) ([]*unstructured.Unstructured, error) {
	options := metav1.ListOptions{LabelSelector: q.Labels, FieldSelector: q.Fields, Limit: q.Limit}
	if q.NotOlderThan != "" {
		options.ResourceVersion, options.ResourceVersionMatch = q.NotOlderThan, metav1.ResourceVersionMatchNotOlderThan
	}
	if q.Limit > 0 {
		objects, _, err := list(ctx, kind, namespace, options)
		return objects, err
	}
	options.Limit = chunkSize
	objects, err := allPages(ctx, kind, namespace, list, options)
	if apierrors.IsResourceExpired(err) { // the API server has forgotten the state that the first page showed
		options.Limit = 0
		return allPages(ctx, kind, namespace, list, options)
	}
	return objects, err
}

// lister sends one LIST; next is the token of the following page, "" after the last.
type lister func(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions) (objects []*unstructured.Unstructured, next string, err error)

// allPages lists all objects of a kind that the options select, in pages of their limit.
func allPages(ctx context.Context, kind Kind, namespace string, list lister, options metav1.ListOptions) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for {
		page, next, err := list(ctx, kind, namespace, options)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); next == "" {
			return all, nil
		}
		options.Continue, options.ResourceVersion, options.ResourceVersionMatch = next, "", "" // the token has the version
	}
}

// matcher returns a function that selects objects as the API server would; false for
// fields other than the name and the namespace, which only the API server knows.
func (q Query) matcher() (func(*unstructured.Unstructured) bool, bool) {
	byLabel, err := labels.Parse(q.Labels)
	if err != nil {
		return nil, false
	}
	byField, err := fields.ParseSelector(q.Fields)
	if err != nil {
		return nil, false
	}
	for _, r := range byField.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return nil, false
		}
	}
	return func(obj *unstructured.Unstructured) bool {
		return byLabel.Matches(labels.Set(obj.GetLabels())) &&
			byField.Matches(fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()})
	}, true
}

// listObjects lists whole objects.
func (c clients) listObjects(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions) ([]*unstructured.Unstructured, string, error) {
	list, err := c.resource(kind, namespace).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	objects := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return objects, list.GetContinue(), nil
}

// listMetadata lists objects with their metadata only.
func (c clients) listMetadata(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions) ([]*unstructured.Unstructured, string, error) {
	list, err := c.metadataOf(kind, namespace).List(ctx, options)
	if err != nil {
		return nil, "", withContextError(ctx, err)
	}
	objects, fields := make([]*unstructured.Unstructured, len(list.Items)), &sharedFields{}
	for i := range list.Items {
		if objects[i], err = fields.convert(&list.Items[i]); err != nil {
			return nil, "", err
		}
		list.Items[i] = metav1.PartialObjectMetadata{} // so that the list is not in memory twice
	}
	return objects, list.GetContinue(), nil
}

// cacheUnready is in the API server's refusal while a watch cache is not ready.
const cacheUnready = "storage is (re)initializing"

// isCacheUnready reports whether the API server refused a LIST because its watch cache
// is not ready.
func isCacheUnready(err error) bool {
	return err != nil && apierrors.IsTooManyRequests(err) && strings.Contains(err.Error(), cacheUnready)
}

// cacheBehind is in the API server's refusal, after three seconds, while its watch cache does not have
// the version that a LIST names.
const cacheBehind = "Too large resource version"

// maxRefusal bounds how much of a refusal is read; the API server's are one sentence.
const maxRefusal = 64 << 10

// withoutCacheRetry removes the header Retry-After from such refusals of a LIST, so
// that client-go returns them instead of asking again for a minute.
func withoutCacheRetry(request *http.Request, response *http.Response) *http.Response {
	refused := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusGatewayTimeout
	if !refused || request.Method != http.MethodGet || request.URL.Query().Has("watch") {
		return response
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	response.Body = readBody{io.MultiReader(bytes.NewReader(text), response.Body), response.Body}
	if err == nil && (bytes.Contains(text, []byte(cacheUnready)) || bytes.Contains(text, []byte(cacheBehind))) {
		response.Header.Del("Retry-After")
	}
	return response
}

// readBody is a body whose beginning was read already.
type readBody struct {
	io.Reader
	io.Closer
}
