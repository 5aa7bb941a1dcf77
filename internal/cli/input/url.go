package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/limits"
)

// A -f argument may be an HTTP or HTTPS URL. It is downloaded completely before it is
// parsed, by a client without the cluster's credentials: it only sends the URL's.

// download limits the download of a URL.
type download struct {
	timeout time.Duration // for the whole download
	limit   int64         // bytes, uncompressed
}

func downloads() download { return download{timeout: limits.DownloadTime, limit: limits.Download} }

// asURL returns a -f argument as a URL; nil if it is a file.
func asURL(name string) *url.URL {
	scheme, _, found := strings.Cut(name, "://")
	if !found || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return nil
	}
	address, err := url.Parse(name)
	if err != nil || address.Host == "" {
		return nil
	}
	return address
}

// read downloads a URL. Errors contain the URL without possible credentials.
func (d download) read(ctx context.Context, from *url.URL) ([]byte, error) {
	late := fmt.Errorf("the download took longer than %s: download it, and name the file", d.timeout)
	reading, cancel := context.WithTimeoutCause(ctx, d.timeout, late)
	defer cancel()
	text, err := d.get(reading, from)
	switch {
	case err == nil:
		return text, nil
	case ctx.Err() != nil:
		return nil, abortable.Cause(ctx)
	case reading.Err() != nil:
		err = late
	}
	return nil, fmt.Errorf("read %s: %w", RedactedURL(from.String()), err)
}

func (d download) get(ctx context.Context, from *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/yaml, application/json, text/plain, */*")
	request.Header.Set("User-Agent", "ordapply")
	client := http.Client{CheckRedirect: checkRedirect}
	response, err := client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // the caller adds the rest
	}
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server returned %s%s", response.Status, statusAdvice(response.StatusCode))
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, d.limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > d.limit:
		return nil, fmt.Errorf("it is larger than %d MiB: download it, and name the file", d.limit>>20)
	case isWebPage(response.Header.Get("Content-Type"), text):
		return nil, errors.New("it is a web page, not a manifest: use the URL of the raw file")
	}
	return text, nil
}

// checkRedirect rejects redirects from HTTPS to HTTP, where manifests could be
// changed in transit. The next host does not learn the previous URL, whose query may be a
// token.
func checkRedirect(next *http.Request, via []*http.Request) error {
	next.Header.Del("Referer")
	switch {
	case len(via) >= 10:
		return errors.New("stopped after 10 redirects")
	case via[0].URL.Scheme == "https" && next.URL.Scheme != "https":
		return fmt.Errorf("it redirects to %s, which is not HTTPS", RedactedURL(next.URL.String()))
	}
	return nil
}

// statusAdvice returns a remedy for common status codes.
func statusAdvice(code int) string {
	switch {
	case code == http.StatusNotFound || code == http.StatusGone:
		return ": check the URL, and that the version in it was released"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return ": it requires credentials, and ordapply sends none; download it, and name the file"
	case code >= 500:
		return ": server error; try again later"
	}
	return ""
}

// isWebPage reports whether a response is HTML, by its content type or its
// start.
func isWebPage(contentType string, text []byte) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind == "text/html" || kind == "application/xhtml+xml" {
		return true
	}
	beginning := bytes.ToLower(bytes.TrimLeft(text[:min(len(text), 512)], "\ufeff \t\r\n"))
	return bytes.HasPrefix(beginning, []byte("<!doctype html")) || bytes.HasPrefix(beginning, []byte("<html"))
}

// sourceName returns the display name of a -f argument, without credentials.
func sourceName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return RedactedURL(file)
}

// redactedPart replaces the parts of a URL that are not stored.
const redactedPart = "xxxxx"

// RedactedURL returns a URL without possible credentials: user, password and query.
// Other strings are returned unchanged.
func RedactedURL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	address, err := url.Parse(text)
	if err != nil { // it is not a valid URL
		return scheme + "://" + redactedPart
	}
	if address.User == nil && address.RawQuery == "" && address.Fragment == "" && !strings.Contains(rest, "@") {
		return text
	}
	if address.User != nil {
		address.User = url.User(redactedPart)
	}
	if address.RawQuery != "" {
		address.RawQuery = redactedPart
	}
	address.Fragment = ""
	return address.String()
}

// IsURL reports whether a -f argument, or a stored one, may be a URL.
func IsURL(file string) bool { return strings.Contains(file, "://") }
