package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// kinds finds the paths of objects by the kinds that the server serves. It asks again for a kind that it does not know,
// at most once a second.
type kinds struct {
	api   *client
	known []servedKind
	asked time.Time
}

type servedKind struct {
	group, kind, prefix, plural string
	namespaced                  bool
}

// path returns the path of an object; "" if its kind is not served. KIND alone means the first group that has it, and
// Kubernetes' own come first.
func (k *kinds) path(ctx context.Context, t target) (string, error) {
	if at := k.find(t); at != "" || time.Since(k.asked) < time.Second {
		return at, nil
	}
	k.asked = time.Now()
	k.known = nil
	for _, root := range []string{"/api", "/apis"} {
		if err := k.discover(ctx, root); err != nil {
			return "", err
		}
	}
	return k.find(t), nil
}

func (k *kinds) find(t target) string {
	kind, group, hasGroup := strings.Cut(t.kind, ".")
	for _, served := range k.known {
		if served.kind != kind || hasGroup && served.group != group {
			continue
		}
		at := served.prefix
		if served.namespaced {
			at += "/namespaces/" + url.PathEscape(t.namespace)
		}
		return at + "/" + served.plural + "/" + url.PathEscape(t.name)
	}
	return ""
}

// discovery is the aggregated discovery document: https://kubernetes.io/docs/concepts/overview/kubernetes-api/.
type discovery struct {
	Items []struct {
		Metadata struct{ Name string }
		Versions []struct {
			Version   string
			Resources []struct {
				Resource     string
				Scope        string
				ResponseKind struct{ Kind string }
			}
		}
	}
}

func (k *kinds) discover(ctx context.Context, root string) error {
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	var found discovery
	if err := k.api.send(ctx, request{method: http.MethodGet, path: root, accept: accept}, &found); err != nil {
		return err
	}
	for _, group := range found.Items {
		prefix := root
		if group.Metadata.Name != "" {
			prefix += "/" + group.Metadata.Name
		}
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				k.known = append(k.known, servedKind{group.Metadata.Name, r.ResponseKind.Kind, prefix + "/" + version.Version, r.Resource, r.Scope == "Namespaced"})
			}
		}
	}
	return nil
}
