package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/template"
	"time"
)

// An account is a bearer token that kube-apiserver knows, and the kubeconfig that holds it. Tokens, and not client
// certificates, because a proxy between a client and the server can pass them on.
type account struct {
	user  string
	group string // as the last column of tokens.csv, with its comma
	file  string // of the kubeconfig
	token string
}

func (c *cluster) accounts() []account {
	return []account{
		{"admin", ",system:masters", c.kubeconfig(), rand.Text()},
		{"localcluster", ",system:masters", c.path("auth", "localcluster"), c.Token},
		{"system:kube-controller-manager", "", c.path("auth", controllerManager), rand.Text()},
		{"system:kube-scheduler", "", c.path("auth", scheduler), rand.Text()},
		{"kwok", ",system:masters", c.path("auth", kwok), rand.Text()},
	}
}

// writeAccess writes tokens.csv and the kubeconfig of every account.
func (c *cluster) writeAccess() error {
	ca, err := os.ReadFile(c.cert("ca.crt"))
	if err != nil {
		return err
	}
	tokens := &strings.Builder{}
	for _, a := range c.accounts() {
		fmt.Fprintf(tokens, "%s,%s,%s%s\n", a.token, a.user, a.user, a.group)
		config, err := kubeconfigFor(c.server(), ca, a)
		if err != nil {
			return err
		}
		if err := os.WriteFile(a.file, config, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(c.path("tokens.csv"), []byte(tokens.String()), 0o600)
}

func kubeconfigFor(server string, ca []byte, a account) ([]byte, error) {
	const text = `apiVersion: v1
kind: Config
current-context: localcluster
contexts:
- name: localcluster
  context: {cluster: localcluster, user: {{.User}}}
clusters:
- name: localcluster
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{.CA}}
users:
- name: {{.User}}
  user:
    token: {{.Token}}
`
	out := &bytes.Buffer{}
	err := template.Must(template.New("kubeconfig").Parse(text)).Execute(out, map[string]string{
		"Server": server, "CA": base64.StdEncoding.EncodeToString(ca), "User": a.user, "Token": a.token,
	})
	return out.Bytes(), err
}

// A client talks to the cluster's API server, as a user of its own: in the audit log, admin is only
// the cluster's user.
type client struct {
	server, token string
	http          *http.Client
}

func (c *cluster) client() (*client, error) {
	ca, err := os.ReadFile(c.cert("ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	return &client{c.server(), c.Token, &http.Client{Transport: transport, Timeout: 10 * time.Second}}, nil
}

// A statusError is an answer other than 2xx.
type statusError struct {
	code int
	what string
	body string
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: %d: %s", e.what, e.code, e.body) }

// A request is an input of send.
type request struct {
	method, path string
	body         any    // as JSON; nil: none
	contentType  string // of the body; "" means application/json
	accept       string // "" means JSON
	user         string // whom the request impersonates; "" means nobody
}

// do sends body (nil: none) as JSON and reads the answer into out (nil: thrown away).
func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	return c.send(ctx, request{method: method, path: path, body: body}, out)
}

// send sends a request and reads the answer into out (nil: thrown away).
func (c *client) send(ctx context.Context, r request, out any) error {
	res, err := c.open(ctx, c.http, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// open returns the answer of a request that the server accepted.
func (c *client) open(ctx context.Context, by *http.Client, r request) (*http.Response, error) {
	send := []byte{}
	if r.body != nil {
		var err error
		if send, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.server+r.path, bytes.NewReader(send))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", cmp.Or(r.contentType, "application/json"))
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.user != "" {
		req.Header.Set("Impersonate-User", r.user)
	}
	res, err := by.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return nil, errors.Join(&statusError{res.StatusCode, r.method + " " + r.path, string(bytes.TrimSpace(answer))}, err)
}

// isStatus reports whether an error is the server's answer with that code.
func isStatus(err error, code int) bool {
	status, ok := errors.AsType[*statusError](err)
	return ok && status.code == code
}
