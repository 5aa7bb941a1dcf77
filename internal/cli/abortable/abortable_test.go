package abortable_test

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

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/limits"
)

// command returns a command under --timeout; 0 for none.
func command(ctx context.Context, limit time.Duration) *cobra.Command {
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetErr(io.Discard)
	abortable.Limit(cmd, limit)
	return cmd
}

// forever is a call that its context does not end; it returns when the test is over.
func forever(t *testing.T) func(context.Context) (string, error) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(context.Context) (string, error) { <-over; return "too late", nil }
}

// A result that is there counts, even if the context ended before it was asked for. A pending
// call ends with the cause of its context, and any cancellation is an interrupt.
func TestResultOrCause(t *testing.T) {
	lost := errors.New("connection lost")
	for name, c := range map[string]struct{ cause, want error }{
		"interrupted":       {abortable.Interruption{}, event.ErrInterrupted},
		"canceled":          {context.Canceled, event.ErrInterrupted},
		"canceled in words": {errors.Join(lost, context.Canceled), event.ErrInterrupted},
		"a deadline":        {context.DeadlineExceeded, context.DeadlineExceeded},
		"another cause":     {lost, lost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				require.NoError(t, abortable.Cause(ctx))
				done := abortable.Start(ctx, func() (string, error) { return "done", lost })
				pending := forever(t)
				waiting := abortable.Start(ctx, func() (string, error) { return pending(ctx) })
				synctest.Wait()
				end(c.cause)
				for range 100 { // select would choose either
					text, err := done()
					require.Equal(t, "done", text)
					require.Equal(t, lost, err)
				}
				text, err := waiting()
				require.Empty(t, text)
				require.Equal(t, c.want, err)
			})
		})
	}
	require.ErrorIs(t, abortable.Interruption{}, context.Canceled)
	require.ErrorIs(t, abortable.Interruption{}, event.ErrInterrupted)
	require.NotErrorIs(t, abortable.Interruption{}, context.DeadlineExceeded)
}

// --timeout ends a call that blocks at the limit, and its error names the call.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cmd := command(t.Context(), 2*time.Minute)
		begin := time.Now()
		_, err := abortable.Run(cmd.Context(), "reading a.yaml", forever(t))
		require.Equal(t, 2*time.Minute, time.Since(begin))
		require.EqualError(t, err, "timed out after 2m0s (--timeout) while reading a.yaml")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, context.Canceled)
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
	})
	synctest.Test(t, func(t *testing.T) {
		cmd := command(t.Context(), time.Minute)
		_, err := abortable.Run(cmd.Context(), "reading a.yaml", func(context.Context) (string, error) { return "", nil })
		require.NoError(t, err)
		<-cmd.Context().Done()
		require.EqualError(t, abortable.Cause(cmd.Context()), "timed out after 1m0s (--timeout)")
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancelCause(t.Context())
		cmd := command(ctx, 0)
		time.AfterFunc(24*time.Hour, func() { interrupt(abortable.Interruption{}) })
		_, err := abortable.Run(cmd.Context(), "reading a.yaml", forever(t))
		require.Equal(t, event.ErrInterrupted, err)
	})
}

// A file is read once in a command, and once by all commands of ReadOnce. Its error counts as
// its result.
func TestOnce(t *testing.T) {
	lost := errors.New("connection lost")
	for name, c := range map[string]struct {
		commands int  // 0: no command; 2: another one for the second call
		shared   bool // the commands run under ReadOnce
		reads    int
	}{
		"no command":              {commands: 0, reads: 2},
		"one command":             {commands: 1, reads: 1},
		"two commands":            {commands: 2, reads: 2},
		"two commands that share": {commands: 2, shared: true, reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			first := t.Context()
			if c.shared {
				first = abortable.ReadOnce(first)
			}
			second := first
			if c.commands > 0 {
				first = command(second, 0).Context()
				second = map[int]context.Context{1: first, 2: command(second, 0).Context()}[c.commands]
			}
			require.Equal(t, c.shared, abortable.IsReadOnce(second))
			reads := 0
			read := func() (int, error) { reads++; return reads, lost }
			_, err := abortable.Once(first, "a", read)
			require.Equal(t, lost, err)
			got, err := abortable.Once(second, "a", read)
			require.Equal(t, lost, err)
			require.Equal(t, c.reads, got)
			other, _ := abortable.Once(second, "b", read)
			require.Equal(t, c.reads+1, other, "another key")
		})
	}
	t.Run("while the first call reads", func(t *testing.T) {
		ctx, began, end := abortable.ReadOnce(t.Context()), make(chan struct{}), make(chan struct{})
		first := abortable.Start(ctx, func() (int, error) {
			return abortable.Once(ctx, "a", func() (int, error) { close(began); <-end; return 1, nil })
		})
		<-began
		close(end)
		got, _ := abortable.Once(ctx, "a", func() (int, error) { return 2, nil })
		require.Equal(t, 1, got)
		got, _ = first()
		require.Equal(t, 1, got)
	})
}

// A file larger than the limit is refused, and one that changes is read once in a command.
func TestReadFile(t *testing.T) {
	cmd := command(t.Context(), 0)
	name := filepath.Join(t.TempDir(), "a.yaml")
	_, err := abortable.ReadFile(t.Context(), name, "--order")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte("before"), 0o600))
	for range 2 {
		text, err := abortable.ReadFile(cmd.Context(), name, "--order")
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
		steps func(ctx context.Context)
		want  string
	}{
		"a quick one": {func(ctx context.Context) { step(ctx, "reading a", 9*time.Second) }, ""},
		"a slow one":  {func(ctx context.Context) { step(ctx, "reading a", 39*time.Second) }, "10s still reading a, after 10s\n"},
		"a very slow one": {func(ctx context.Context) { step(ctx, "reading a", 71*time.Second) },
			"10s still reading a, after 10s\n40s still reading a, after 40s\n1m10s still reading a, after 1m10s\n"},
		"two after another": {func(ctx context.Context) {
			step(ctx, "reading a", 11*time.Second)
			step(ctx, "reading b", 11*time.Second)
		},
			"10s still reading a, after 10s\n21s still reading b, after 10s\n"},
		"two side by side": {func(ctx context.Context) {
			go step(ctx, "reading a", 12*time.Second)
			time.Sleep(time.Second)
			step(ctx, "reading b", 29*time.Second)
		}, "10s still reading a, after 10s\n20s still reading b, after 19s\n"},
		"two at once": {func(ctx context.Context) {
			go step(ctx, "reading a", 11*time.Second)
			step(ctx, "reading a", 11*time.Second)
		},
			"10s still reading a, after 10s (and 1 more)\n"},
		"muted": {func(ctx context.Context) { abortable.SetSlowNotice(ctx, nil); step(ctx, "reading a", 11*time.Second) }, ""},
		"without a command": {func(ctx context.Context) {
			abortable.SetSlowNotice(context.Background(), nil)
			step(ctx, "reading a", 11*time.Second)
		},
			"10s still reading a, after 10s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			// Where the report goes: to standard error, to the function of SetSlowNotice, or to
			// that of WithSlowNotice, which SetSlowNotice does not replace.
			for _, to := range []string{"stderr", "set", "with"} {
				synctest.Test(t, func(t *testing.T) {
					var stderr, set, with timedLines
					ctx, end := context.WithCancel(t.Context())
					stderr.begin, set.begin, with.begin = time.Now(), time.Now(), time.Now()
					if to == "with" {
						ctx = abortable.WithSlowNotice(ctx, with.add)
					}
					cmd := &cobra.Command{}
					cmd.SetContext(ctx)
					cmd.SetErr(&stderr)
					abortable.Limit(cmd, 0)
					if to != "stderr" {
						abortable.SetSlowNotice(cmd.Context(), set.add)
					}
					c.steps(cmd.Context())
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
