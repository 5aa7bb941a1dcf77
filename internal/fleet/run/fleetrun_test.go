package run

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/view/events"
)

// However a run writes its lines, each arrives once and whole.
func TestLineWriter(t *testing.T) {
	text := "one\n\ntwo and three\nthe last without an end"
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var got []string
		w := &lineWriter{each: func(line []byte) { got = append(got, string(line)) }}
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(len(rest))
			wrote, err := w.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, wrote)
			rest = rest[n:]
		}
		w.Close()
		require.Equal(t, strings.Split(text, "\n"), got)
	}
}

// The goroutines of a run do not mix their lines.
func TestLineWriterOfSeveral(t *testing.T) {
	counts := map[string]int{}
	w := &lineWriter{each: func(line []byte) { counts[string(line)]++ }}
	var wait sync.WaitGroup
	for _, line := range []string{"one", "two"} {
		wait.Go(func() {
			for range 1000 {
				_, _ = w.Write([]byte(line + "\n"))
			}
		})
	}
	wait.Wait()
	w.Close()
	require.Equal(t, map[string]int{"one": 1000, "two": 1000}, counts)
}

// A run gets the flags of the command line with their values, whatever the characters, and
// no others.
func TestGivenFlags(t *testing.T) {
	define := func() *pflag.FlagSet {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.StringSlice("filename", []string{"default"}, "")
		flags.StringArray("as-group", nil, "")
		flags.StringToString("metrics-label", nil, "")
		flags.String("message", "", "")
		flags.Bool("prune", false, "")
		flags.Int("verbosity", 0, "")
		flags.String("unset", "x", "")
		return flags
	}
	flags := define()
	require.NoError(t, flags.Parse([]string{"--filename", `a.yaml,"b,c.yaml"`, "--filename=d e.yaml", "--as-group", `a,"b`, "--metrics-label=a=1", "--metrics-label=b=x=y", "--message", "it's \"new\", --prune", "--prune", "--verbosity=2"}))
	args := given(flags, func(*pflag.Flag) bool { return true })
	require.NotContains(t, strings.Join(args, " "), "unset")
	again := define()
	require.NoError(t, again.Parse(args))
	flags.VisitAll(func(flag *pflag.Flag) {
		require.Equal(t, flag.Changed, again.Lookup(flag.Name).Changed, flag.Name)
		if flag.Name == "metrics-label" { // a map, which is printed in any order
			want, _ := flags.GetStringToString(flag.Name)
			got, _ := again.GetStringToString(flag.Name)
			require.Equal(t, want, got)
			return
		}
		require.Equal(t, flag.Value.String(), again.Lookup(flag.Name).Value.String(), flag.Name)
	})
}

// An error of several clusters is one with their names.
func TestErrorsWithNames(t *testing.T) {
	clusters := []fleet.Cluster{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}}
	x, y, z := errors.New("x"), errors.New("y"), errors.New("z")
	all := errors.New("all of them")
	errs := name(clusters, []error{errors.Join(x, all), errors.Join(y, all), errors.Join(x, all), errors.Join(x, all), errors.Join(x, all), errors.Join(x, z, all)})
	require.EqualError(t, errors.Join(errs...), "a, c, d and 2 more: x\nall clusters: all of them\nb: y\nf: z")
	require.ErrorIs(t, errs[0], x)
	require.Empty(t, name(clusters, make([]error, len(clusters))))
}

// The counts of a run come from its lines; a hook or a rollback is a change.
func TestTally(t *testing.T) {
	unchanged := []string{
		`{"version":1,"type":"runStart","timestamp":"2026-01-02T03:04:05Z","resources":2,"waves":[{"wave":1},{"wave":2}]}`,
		`{"version":1,"type":"plan","timestamp":"2026-01-02T03:04:05Z","resources":[{"name":"web"}]}`,
		`{"version":1,"type":"waveStart","timestamp":"2026-01-02T03:04:05Z","wave":2,"name":"web"}`,
		`{"version":1,"type":"resource","timestamp":"2026-01-02T03:04:05Z","name":"web","state":"waiting","final":false}`,
		`{"version":1,"type":"resource","timestamp":"2026-01-02T03:04:05Z","name":"web","state":"ready","final":true,"unchanged":true}`,
		`{"version":1,"type":"runEnd","timestamp":"2026-01-02T03:04:05Z","state":"done","counts":{"ready":18,"timedOut":1,"failed":2}}`,
	}
	count := func(lines ...string) tally {
		var all tally
		for _, line := range lines {
			all.take(events.Look([]byte(line)))
		}
		return all
	}
	got := count(unchanged...)
	require.Equal(t, tally{total: 2, waves: 2, final: 1, wave: 2, waveName: "web", counts: map[string]int{"ready": 18, "timedOut": 1, "failed": 2}}, got)
	require.Equal(t, "18 ready, 2 failed, 1 timed out", got.words())
	for _, line := range []string{
		`{"version":1,"type":"resource","timestamp":"2026-01-02T03:04:05Z","name":"web","state":"ready","final":true}`,
		`{"version":1,"type":"hook","timestamp":"2026-01-02T03:04:05Z","name":"migrate","state":"applying"}`,
		`{"version":1,"type":"rollbackStart","timestamp":"2026-01-02T03:04:05Z","revision":1,"resources":2,"waves":[]}`,
	} {
		require.True(t, count(append(unchanged, line)...).wrote, line)
	}
}

// The name of a cluster follows the timestamp, and the line stays JSON whatever the name.
func TestLinesHaveTheirCluster(t *testing.T) {
	line := []byte(`{"version":1,"type":"warning","timestamp":"2026-01-02T03:04:05Z","source":"plan","message":"\"timestamp\":\"x\""}`)
	require.Equal(t, `{"version":1,"type":"warning","timestamp":"2026-01-02T03:04:05Z","cluster":"eu\"1","source":"plan","message":"\"timestamp\":\"x\""}`, string(events.InCluster(line, `eu"1`)))
	require.Equal(t, "no line", string(events.InCluster([]byte("no line"), "eu-1")))
}
