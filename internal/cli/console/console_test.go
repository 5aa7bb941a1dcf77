package console_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/limits"
)

// limited returns the context of a command under --timeout; 0 for none.
func limited(ctx context.Context, limit time.Duration) context.Context {
	return console.New(nil, io.Discard, io.Discard).Limit(ctx, limit)
}

// forever is a call that its context does not end; it returns when the test is over.
func forever(t *testing.T) func(context.Context) (string, error) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(context.Context) (string, error) { <-over; return "too late", nil }
}

// --timeout ends a call that blocks at the limit, and its error names the call.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := limited(t.Context(), 2*time.Minute)
		begin := time.Now()
		_, err := abortable.Run(ctx, "reading a.yaml", forever(t))
		require.Equal(t, 2*time.Minute, time.Since(begin))
		require.EqualError(t, err, "timed out after 2m0s (--timeout) while reading a.yaml")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, context.Canceled)
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
	})
	synctest.Test(t, func(t *testing.T) {
		ctx := limited(t.Context(), time.Minute)
		_, err := abortable.Run(ctx, "reading a.yaml", func(context.Context) (string, error) { return "", nil })
		require.NoError(t, err)
		<-ctx.Done()
		require.EqualError(t, abortable.Cause(ctx), "timed out after 1m0s (--timeout)")
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancelCause(t.Context())
		ctx = limited(ctx, 0)
		time.AfterFunc(24*time.Hour, func() { interrupt(abortable.Interruption{}) })
		_, err := abortable.Run(ctx, "reading a.yaml", forever(t))
		require.Equal(t, event.ErrInterrupted, err)
	})
}

// A file is read once on a console, and once on all that share its files. Its error counts as its
// result.
func TestOnce(t *testing.T) {
	lost := errors.New("connection lost")
	first := console.New(nil, io.Discard, io.Discard)
	for name, c := range map[string]struct {
		second *console.Console
		reads  int
	}{
		"one console":             {first, 1},
		"two consoles":            {console.New(nil, io.Discard, io.Discard), 2},
		"two consoles that share": {first.Share(io.Discard, io.Discard, nil), 1},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			read := func() (int, error) { reads++; return reads, lost }
			_, err := console.Once(first, name, read)
			require.Equal(t, lost, err)
			got, err := console.Once(c.second, name, read)
			require.Equal(t, lost, err)
			require.Equal(t, c.reads, got)
			other, _ := console.Once(c.second, name+" other", read)
			require.Equal(t, c.reads+1, other, "another key")
		})
	}
	require.True(t, first.Share(nil, nil, nil).IsShared())
	first.Command = "ordapply apply"
	require.Equal(t, first.Command, first.Share(nil, nil, nil).Command)
	require.False(t, first.IsShared())
	t.Run("while the first call reads", func(t *testing.T) {
		began, end := make(chan struct{}), make(chan struct{})
		reading := abortable.Start(t.Context(), func() (int, error) {
			return console.Once(first, "a", func() (int, error) { close(began); <-end; return 1, nil })
		})
		<-began
		close(end)
		got, _ := console.Once(first, "a", func() (int, error) { return 2, nil })
		require.Equal(t, 1, got)
		got, _ = reading()
		require.Equal(t, 1, got)
	})
}

// A file larger than the limit is refused, and one that changes is read once on a console.
func TestReadFile(t *testing.T) {
	c := console.New(nil, io.Discard, io.Discard)
	name := filepath.Join(t.TempDir(), "a.yaml")
	_, err := abortable.ReadFile(t.Context(), name, "--order")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte("before"), 0o600))
	for range 2 {
		text, err := c.ReadFile(t.Context(), name, "--order")
		require.NoError(t, err)
		require.Equal(t, "before", string(text))
		require.NoError(t, os.WriteFile(name, []byte("after"), 0o600))
	}
	require.NoError(t, os.Truncate(name, limits.File+1)) // it takes no place on the disk
	_, err = abortable.ReadFile(t.Context(), name, "--order")
	require.EqualError(t, err, name+" is larger than 256 MiB")
}

// A pending step is reported after 10 s, and again each 30 s; another one not before 10 s
// after the report before it.
func TestSlowSteps(t *testing.T) {
	step := func(ctx context.Context, doing string, lasts time.Duration) {
		_, _ = abortable.Run(ctx, doing, func(context.Context) (string, error) { time.Sleep(lasts); return "", nil })
	}
	for name, c := range map[string]struct {
		steps func(ctx context.Context, c *console.Console)
		want  string
	}{
		"a quick one": {func(ctx context.Context, c *console.Console) { step(ctx, "reading a", 9*time.Second) }, ""},
		"a slow one":  {func(ctx context.Context, c *console.Console) { step(ctx, "reading a", 39*time.Second) }, "10s still reading a, after 10s\n"},
		"a very slow one": {func(ctx context.Context, c *console.Console) { step(ctx, "reading a", 71*time.Second) },
			"10s still reading a, after 10s\n40s still reading a, after 40s\n1m10s still reading a, after 1m10s\n"},
		"two after another": {func(ctx context.Context, c *console.Console) {
			step(ctx, "reading a", 11*time.Second)
			step(ctx, "reading b", 11*time.Second)
		},
			"10s still reading a, after 10s\n21s still reading b, after 10s\n"},
		"two side by side": {func(ctx context.Context, c *console.Console) {
			go step(ctx, "reading a", 12*time.Second)
			time.Sleep(time.Second)
			step(ctx, "reading b", 29*time.Second)
		}, "10s still reading a, after 10s\n20s still reading b, after 19s\n"},
		"two at once": {func(ctx context.Context, c *console.Console) {
			go step(ctx, "reading a", 11*time.Second)
			step(ctx, "reading a", 11*time.Second)
		},
			"10s still reading a, after 10s (and 1 more)\n"},
		"muted": {func(ctx context.Context, c *console.Console) {
			c.ReportSlow(nil)
			step(ctx, "reading a", 11*time.Second)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			// Where the report goes: to standard error, to the function of ReportSlow, or to that of
			// Share, which ReportSlow does not replace.
			for _, to := range []string{"stderr", "set", "with"} {
				synctest.Test(t, func(t *testing.T) {
					var stderr, set, with timedLines
					ctx, end := context.WithCancel(t.Context())
					stderr.begin, set.begin, with.begin = time.Now(), time.Now(), time.Now()
					on := console.New(nil, io.Discard, &stderr)
					if to == "with" {
						on = on.Share(io.Discard, &stderr, with.add)
					}
					ctx = on.Limit(ctx, 0)
					if to != "stderr" {
						on.ReportSlow(set.add)
					}
					c.steps(ctx, on)
					end()
					synctest.Wait()
					for name, lines := range map[string]string{"stderr": stderr.text, "set": set.text, "with": with.text} {
						require.Equal(t, map[bool]string{true: c.want}[name == to], lines, name)
					}
				})
			}
		})
	}
}

// timedLines are lines with the time since a beginning.
type timedLines struct {
	begin time.Time
	text  string
}

func (l *timedLines) add(line string) {
	l.text += time.Since(l.begin).String() + " " + line + "\n"
}

func (l *timedLines) Write(line []byte) (int, error) {
	l.add(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
