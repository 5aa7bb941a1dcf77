package console

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// -v logs on standard error. Each level includes the lower ones. No level logs bodies or
// headers, since they contain Secrets and tokens.
const (
	Decisions = 1 // sources of settings; wave of each resource, and the reason
	Retries   = 2 // requests that are retried: attempt, pause and cause
	Requests  = 3 // every request with its status and duration
)

// RegisterVerbosity defines -v.
func RegisterVerbosity(flags *pflag.FlagSet) {
	flags.IntP("verbosity", "v", 0, "log level on standard error: 1: decisions, 2: also retries, 3 and above: also requests, without bodies or headers. With any of them, lines replace the live view")
}

// LongNames accepts kubectl's --v for -v.
func LongNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "v" {
		name = "verbosity"
	}
	return pflag.NormalizedName(name)
}

// Verbosity returns the level of -v.
func Verbosity(flags *pflag.FlagSet) int {
	level, _ := flags.GetInt("verbosity")
	return level
}

// Log is the log of -v. A nil log discards everything.
type Log struct {
	level int

	mu sync.Mutex // many goroutines log requests
	to io.Writer
}

// NewLog returns the log of -v; nil for level 0.
func NewLog(level int, to io.Writer) (*Log, error) {
	switch {
	case level < 0:
		return nil, usage.Errorf("--verbosity=%d: write 0 or more", level)
	case level == 0:
		return nil, nil
	}
	return &Log{level: level, to: to}, nil
}

// Retries returns a context whose retried requests are logged.
func (l *Log) Retries(ctx context.Context) context.Context {
	if l == nil || l.level < Retries {
		return ctx
	}
	return kube.WithRetries(ctx, l.retry)
}

// on returns a log of the same level that writes to w.
func (l *Log) on(w io.Writer) *Log {
	if l == nil {
		return nil
	}
	return &Log{level: l.level, to: w}
}

// Redirect makes the log write to w.
func (l *Log) Redirect(w io.Writer) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = w
}

// Printf logs a line if the level is on.
func (l *Log) Printf(level int, format string, args ...any) {
	if l == nil || l.level < level {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	plain.Fprintf(l.to, format+"\n", args...)
}

// Plan logs the wave of each resource, and the reason.
func (l *Log) Plan(p *ordering.Plan) {
	if l == nil {
		return
	}
	for n := range p.Waves {
		for _, s := range p.Steps {
			if s.Wave == n {
				l.Printf(Decisions, "planned %s in %s: %s", s.ID, p.WaveTitle(n), s.Why)
			}
		}
	}
}

// retry logs a retry.
func (l *Log) retry(r kube.Retry) {
	text := "retry"
	if r.Attempt > 0 {
		text += " " + strconv.Itoa(r.Attempt)
	}
	if r.Pause > 0 {
		text += " in " + r.Pause.Round(time.Millisecond).String()
	}
	text += ": " + r.Of
	if r.Cause != nil {
		text += ": " + r.Cause.Error()
	}
	l.Printf(Retries, "%s", text)
}

// RequestsOf logs every request of a client.
func (l *Log) RequestsOf(config *rest.Config) {
	if l != nil && l.level >= Requests {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return loggedRequests{next, l} })
	}
}

// loggedRequests logs each request and its response.
type loggedRequests struct {
	next http.RoundTripper
	log  *Log
}

// RoundTrip implements http.RoundTripper.
func (r loggedRequests) RoundTrip(request *http.Request) (*http.Response, error) {
	started := time.Now()
	response, err := r.next.RoundTrip(request)
	took := time.Since(started).Round(time.Millisecond)
	if err != nil {
		r.log.Printf(Requests, "%s %s: %v after %s", request.Method, request.URL.Redacted(), err, took)
	} else {
		r.log.Printf(Requests, "%s %s: %s in %s", request.Method, request.URL.Redacted(), response.Status, took)
	}
	return response, err
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper, by which
// client-go finds the underlying transport.
func (r loggedRequests) WrappedRoundTripper() http.RoundTripper { return r.next }
