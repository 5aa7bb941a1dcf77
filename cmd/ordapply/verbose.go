package main

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// -v logs on standard error. Each level includes those below it. No level logs
// bodies or headers, since they contain Secrets and tokens.
const (
	logDecisions = 1 // sources of settings; wave of each resource, and the reason
	logRetries   = 2 // requests that are retried: attempt, pause and cause
	logRequests  = 3 // every request with its status and duration
)

func registerVerbosity(flags *pflag.FlagSet) {
	flags.IntP("verbosity", "v", 0, "log level on standard error: 1: decisions, 2: also retries, 3 and above: also requests, without bodies or headers. With any of them, lines replace the live view")
}

// longNames accepts kubectl's --v for -v.
func longNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "v" {
		name = "verbosity"
	}
	return pflag.NormalizedName(name)
}

// verbosityOf returns the level of -v.
func verbosityOf(cmd *cobra.Command) int {
	level, _ := cmd.Flags().GetInt("verbosity")
	return level
}

func isVerbose(cmd *cobra.Command) bool { return verbosityOf(cmd) > 0 }

// verboseLog is the log of -v. A nil log discards everything.
type verboseLog struct {
	level int

	mu sync.Mutex // many goroutines log requests
	to io.Writer
}

type verboseKey struct{}

// logVerbosely adds the log of -v to a command's context.
func logVerbosely(cmd *cobra.Command) error {
	level := verbosityOf(cmd)
	if level < 0 {
		return usagef("--verbosity=%d: write 0 or more", level)
	}
	if level == 0 {
		return nil
	}
	log := &verboseLog{level: level, to: cmd.ErrOrStderr()}
	ctx := context.WithValue(cmd.Context(), verboseKey{}, log)
	if level >= logRetries {
		ctx = kube.WithRetries(ctx, log.retry)
	}
	cmd.SetContext(ctx)
	return nil
}

// verboseLogOf returns the log of a command's context; nil without -v.
func verboseLogOf(ctx context.Context) *verboseLog {
	log, _ := ctx.Value(verboseKey{}).(*verboseLog)
	return log
}

// writeTo redirects the log.
func (l *verboseLog) writeTo(w io.Writer) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = w
}

func (l *verboseLog) printf(level int, format string, args ...any) {
	if l == nil || l.level < level {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	plain.Fprintf(l.to, format+"\n", args...)
}

// plan logs the wave of each resource, and the reason.
func (l *verboseLog) plan(p *ordering.Plan) {
	if l == nil {
		return
	}
	for n := range p.Waves {
		for _, s := range p.Steps {
			if s.Wave == n {
				l.printf(logDecisions, "planned %s in %s: %s", s.ID, p.WaveTitle(n), s.Why)
			}
		}
	}
}

// retry logs a retry.
func (l *verboseLog) retry(r kube.Retry) {
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
	l.printf(logRetries, "%s", text)
}

// requestsOf logs every request of a client.
func (l *verboseLog) requestsOf(config *rest.Config) {
	if l != nil && l.level >= logRequests {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return loggedRequests{next, l} })
	}
}

// loggedRequests logs each request and its response.
type loggedRequests struct {
	next http.RoundTripper
	log  *verboseLog
}

// RoundTrip implements http.RoundTripper.
func (r loggedRequests) RoundTrip(request *http.Request) (*http.Response, error) {
	begun := time.Now()
	response, err := r.next.RoundTrip(request)
	took := time.Since(begun).Round(time.Millisecond)
	if err != nil {
		r.log.printf(logRequests, "%s %s: %v after %s", request.Method, request.URL.Redacted(), err, took)
	} else {
		r.log.printf(logRequests, "%s %s: %s in %s", request.Method, request.URL.Redacted(), response.Status, took)
	}
	return response, err
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper, by which
// client-go finds the underlying transport.
func (r loggedRequests) WrappedRoundTripper() http.RoundTripper { return r.next }

// sourceName returns the display name of a -f argument, without credentials.
func sourceName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return keptURL(file)
}
