package flux

import (
	"fmt"
	"net/url"
	"strings"
)

// Source is Flux's source of the tree.
type Source struct {
	Kind     string // OCIRepository, GitRepository or Bucket
	URL      string // oci://registry/name, https://host/name.git, https://endpoint/bucket
	Ref      string // tag or branch
	Insecure bool   // plain HTTP
}

// Kinds of sources.
const (
	ociRepository = "OCIRepository"
	gitRepository = "GitRepository"
	bucket        = "Bucket"
)

// Kinds lists the kinds of sources.
func Kinds() []string { return []string{ociRepository, gitRepository, bucket} }

// KindOf returns the kind of source that a URL is of; "" if it is none. An HTTP address
// may be of two kinds; a Git repository's is more common.
func KindOf(address string) string {
	switch scheme, _, _ := strings.Cut(address, "://"); scheme {
	case "oci":
		return ociRepository
	case "https", "http", "ssh":
		return gitRepository
	}
	return ""
}

// object returns the source object.
func (s Source) object(o Options) (object, error) {
	spec := object{"interval": o.Interval.String(), "url": s.URL}
	switch s.Kind {
	case ociRepository:
		spec["ref"] = object{"tag": s.Ref}
		if s.Insecure {
			spec["insecure"] = true
		}
	case gitRepository:
		spec["ref"] = object{"branch": s.Ref}
	case bucket:
		at, err := url.Parse(s.URL)
		if err != nil || at.Host == "" || strings.Trim(at.Path, "/") == "" {
			return nil, fmt.Errorf("the URL of a Bucket is https://ENDPOINT/BUCKET, not %s", s.URL)
		}
		delete(spec, "url")
		spec["endpoint"], spec["bucketName"] = at.Host, strings.Trim(at.Path, "/")
		if s.Insecure || at.Scheme == "http" {
			spec["insecure"] = true
		}
	default:
		return nil, fmt.Errorf("no source has the kind %q: write %s", s.Kind, strings.Join(Kinds(), ", "))
	}
	return object{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": s.Kind,
		"metadata": object{"name": o.Name, "namespace": o.Namespace},
		"spec":     spec,
	}, nil
}

// DefaultRef returns the tag or branch of a kind of source that names none.
func DefaultRef(kind string) string {
	if kind == ociRepository {
		return "latest"
	}
	return "main"
}
