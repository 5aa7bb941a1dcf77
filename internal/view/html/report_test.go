package html

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lines are the events of a run of three waves: a namespace; a layer with kafka, which
// takes three minutes, and a fast cache; an app that needs kafka.
func lines() string {
	var b strings.Builder
	layers := map[int]string{2: "data"}
	write := func(seconds float64, format string, args ...any) {
		at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
		fmt.Fprintf(&b, `{"version":1,"timestamp":%q,%s}`+"\n", at.Format(time.RFC3339Nano), fmt.Sprintf(format, args...))
	}
	resource := func(seconds float64, id string, wave int, state string, final bool, more string) {
		write(seconds, `"type":"resource",%s,"wave":%d,"layer":%q,"operation":"apply","state":%q,"final":%v,"seconds":0%s`, id, wave, layers[wave], state, final, more)
	}
	const (
		ns    = `"group":"","kind":"Namespace","name":"shop"`
		kafka = `"group":"apps","kind":"StatefulSet","namespace":"shop","name":"kafka"`
		cache = `"group":"apps","kind":"Deployment","namespace":"shop","name":"cache"`
		app   = `"group":"apps","kind":"Deployment","namespace":"shop","name":"app"`
	)
	write(0, `"type":"runStart","server":"https://10.0.0.1","dryRun":false,"schedule":"waves","resources":4,"waves":[{"wave":1,"resources":1},{"wave":2,"name":"data","resources":2},{"wave":3,"name":"app","resources":1}]`)
	write(0, `"type":"plan","resources":[{%s,"wave":1,"readyBy":1,"gate":"ready"},
		{%s,"wave":2,"readyBy":2,"gate":"ready","needs":[{%s,"gate":"ready","reason":"namespace"}]},
		{%s,"wave":2,"readyBy":2,"gate":"ready"},
		{%s,"wave":3,"readyBy":3,"gate":"ready","needs":[{%s,"gate":"ready","reason":"env"}]}]`, ns, kafka, ns, cache, app, kafka)
	write(0, `"type":"waveStart","wave":1,"resources":1`)
	resource(0, ns, 1, "applying", false, "")
	resource(1, ns, 1, "ready", true, "")
	write(1, `"type":"waveEnd","wave":1,"resources":1,"state":"ready","seconds":1,"counts":{}`)
	write(1, `"type":"waveStart","wave":2,"name":"data","resources":2`)
	resource(1, kafka, 2, "applying", false, "")
	resource(1, cache, 2, "applying", false, "")
	resource(2, kafka, 2, "waiting", false, `,"message":"0 of 3 ready </script><b>"`)
	resource(11, cache, 2, "ready", true, "")
	resource(186, kafka, 2, "ready", true, "")
	write(186, `"type":"waveEnd","wave":2,"name":"data","resources":2,"state":"ready","seconds":185,"counts":{}`)
	write(186, `"type":"waveStart","wave":3,"name":"app","resources":1`)
	resource(186, app, 3, "applying", false, "")
	resource(250, app, 3, "ready", true, "")
	write(250, `"type":"runEnd","state":"done","exitCode":0,"seconds":250,"counts":{"ready":4}`)
	return strings.ReplaceAll(b.String(), "\n\t\t", "")
}

// The critical path names the run's waits, their lengths, and the run's length without each
// edge.
func TestCriticalPath(t *testing.T) {
	run, err := Read(strings.NewReader(lines()))
	require.NoError(t, err)
	p := run.Parts[0]
	var path []string
	for _, s := range p.CriticalPath(run.Schedule) {
		path = append(path, fmt.Sprintf("%s %v %q %v", p.Resources[s.Of].Name, s.Cost, s.Why, s.Without))
	}
	require.Equal(t, []string{
		`shop 1s "" 0s`,
		`kafka 3m5s "namespace" 0s`, // its wave opens with the namespace in any case
		`app 1m4s "env" 3m6s`,       // then kafka alone takes as long
	}, path)
}

// A stream that is cut off is a run without an end; a text that is no event is an error
// with its line.
func TestRead(t *testing.T) {
	all := lines()
	cut := all[:strings.Index(all, `"runEnd"`)]
	run, err := Read(strings.NewReader(cut[:strings.LastIndex(cut, "\n")]))
	require.NoError(t, err)
	require.Empty(t, run.State)
	require.Equal(t, 250*time.Second, run.Ended.Sub(run.Began))

	for end := range len(all) { // a command that is killed may leave a part of a line
		if end <= strings.Index(all, "\n") {
			continue
		}
		run, err := Read(strings.NewReader(all[:end]))
		require.NoError(t, err, all[:end])
		require.Equal(t, end == len(all)-1, run.State == "done")
	}

	_, err = Read(strings.NewReader(all + "applied 3 resources\n"))
	require.ErrorContains(t, err, "line 18: not an event")
	_, err = Read(strings.NewReader(`{"version":2,"type":"x","timestamp":"2026-01-02T03:00:00Z"}`))
	require.ErrorContains(t, err, "use a newer ordapply")
	_, err = Read(strings.NewReader("\n"))
	require.Error(t, err)
}

// Text of the cluster cannot end the element that holds it, nor turn that of the heading.
func TestPageIsText(t *testing.T) {
	run, err := Read(strings.NewReader(lines()))
	require.NoError(t, err)
	run.ApplySet = "shop\u202e"
	var page bytes.Buffer
	require.NoError(t, Write(&page, run))
	require.NotContains(t, page.String(), "</script><b>")
	require.NotContains(t, page.String(), "\u202e")
	require.Contains(t, page.String(), `\u003c/script\u003e\u003cb\u003e`)
	require.NotContains(t, page.String(), "ZgotmplZ")
	for _, outside := range []string{`src="http`, `href="http`, "@import", "url(http"} {
		require.NotContains(t, page.String(), outside)
	}
}

// The graph is the drawing of the plan that the events describe.
func TestGraph(t *testing.T) {
	everything := [][]int{{0}, {1}, {2}, {3}}
	for name, c := range map[string]struct {
		events, schedule string
		boxes            [][]int
		has, hasNot      []string
	}{
		"waves": {lines(), "waves", everything, []string{
			`class="grey box1 box3"`,
			`>wave 3/3 (app)<tspan`, `>gate: 2 resources ready<`, `id="gate3"`,
		}, []string{`class="grey box0`}},
		"no waves": {lines(), "graph", everything, []string{`>wave 3/3 (app)<`}, []string{`class="gate`}},
		"declared": {strings.Replace(lines(), `"reason":"env"`, `"declared":true,"reason":"env"`, 1), "waves", everything, []string{`class="black box1 box3"`}, nil},
		"deletion": {strings.ReplaceAll(lines(), `"operation":"apply"`, `"operation":"delete"`), "waves", everything, []string{`>gate: 2 resources deleted<`}, []string{"resources ready"}},
		"cycle":    {strings.NewReplacer(`"wave":2`, `"wave":1`, `"wave":3`, `"wave":1`).Replace(chain(3, "waves")), "waves", [][]int{{0, 1, 2}}, nil, []string{"<path class"}},
		"backwards": {
			strings.Replace(lines(), `"readyBy":1,"gate":"ready"}`, `"readyBy":1,"gate":"ready","needs":[{"group":"apps","kind":"Deployment","namespace":"shop","name":"app"}]}`, 1),
			"waves", everything, []string{`class="grey box1 box3"`}, []string{`box3 box0`},
		},
		"too long": {chain(3000, "waves"), "waves", nil, nil, []string{"<svg"}},
	} {
		run, err := Read(strings.NewReader(c.events))
		require.NoError(t, err, name)
		svg, boxes := run.Parts[0].graph(c.schedule)
		require.Equal(t, c.boxes, boxes, name)
		for _, text := range c.has {
			require.Contains(t, svg, text, name)
		}
		for _, text := range c.hasNot {
			require.NotContains(t, svg, text, name)
		}
	}
}

// chain returns the events of n resources, each of which needs the one before it and
// takes a second. The last of them needs the first, for which all others wait too.
func chain(n int, schedule string) string {
	var b strings.Builder
	id := func(i int) string {
		return fmt.Sprintf(`"group":"","kind":"ConfigMap","namespace":"x","name":"c%d"`, i)
	}
	at := func(seconds int) string {
		return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second).Format(time.RFC3339Nano)
	}
	fmt.Fprintf(&b, `{"version":1,"type":"runStart","timestamp":%q,"schedule":%q}`+"\n", at(0), schedule)
	fmt.Fprintf(&b, `{"version":1,"type":"plan","timestamp":%q,"resources":[`, at(0))
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		before := (i + n - 1) % n // the first needs the last: such a plan is refused, a file may say it
		fmt.Fprintf(&b, `{%s,"wave":%d,"readyBy":%d,"gate":"ready","needs":[{%s,"gate":"ready","reason":"r"},{%s,"gate":"ready","reason":"r"}]}`, id(i), i+1, i+1, id(before), id(i))
	}
	b.WriteString("]}\n")
	for i := range n {
		fmt.Fprintf(&b, `{"version":1,"type":"resource","timestamp":%q,%s,"wave":%d,"state":"applying"}`+"\n", at(i), id(i), i+1)
		fmt.Fprintf(&b, `{"version":1,"type":"resource","timestamp":%q,%s,"wave":%d,"state":"ready","final":true,"seconds":1}`+"\n", at(i+1), id(i), i+1)
	}
	return b.String()
}

// A long chain whose needs form a cycle takes no long calculation.
func TestLongChain(t *testing.T) {
	for _, schedule := range []string{"waves", "graph"} {
		run, err := Read(strings.NewReader(chain(5000, schedule)))
		require.NoError(t, err)
		began := time.Now()
		path := run.Parts[0].CriticalPath(schedule)
		require.Less(t, time.Since(began), 2*time.Minute) // some 0.2 s; a calculation of each pair takes hours
		require.Len(t, path, 5000, schedule)
		require.Equal(t, Segment{Of: 4999, From: 4999 * time.Second, Cost: time.Second, Why: "r"}, without(path[4999]))
	}
}

func without(s Segment) Segment {
	s.Without = 0
	return s
}

// Any file gives a page or an error.
func FuzzPage(f *testing.F) {
	f.Add(lines())
	f.Add(chain(3, "graph"))
	f.Add(`{"type":"runStart"}` + "\n" + `{"timestamp":"2026-01-02T03:00:00Z"}` + "\n" + `{"type":"resource","message":"has no time"}`)
	f.Add(`{"version":1,"type":"runStart","timestamp":"2026-01-02T03:00:00Z","waves":[{"wave":-4}]}` + "\n" +
		`{"version":1,"type":"waveEnd","timestamp":"2025-01-02T03:00:00Z","wave":-1}` + "\n" +
		`{"version":1,"type":"waveStart","timestamp":"2026-01-02T03:00:00Z","wave":99999999999}` + "\n" +
		`{"version":1,"type":"resource","timestamp":"2027-01-02T03:00:00Z","name":"</script>","wave":-7,"state":"ready","final":true,"seconds":1e300}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		run, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var page bytes.Buffer
		require.NoError(t, Write(&page, run))
		require.Equal(t, 2, strings.Count(page.String(), "</script>"))
	})
}

// The preparation and hooks are links of their own, before, between and after the resources: no
// resource is blamed for their time.
func TestCriticalPathHasHooks(t *testing.T) {
	events := strings.Split(strings.TrimSpace(lines()), "\n")
	hook := func(at int, event, name, state string, final bool) string {
		return fmt.Sprintf(`{"version":1,"type":"hook","timestamp":"2026-01-02T03:%02d:%02dZ","kind":"Job","group":"batch","name":%q,"event":%q,"operation":"wait","state":%q,"final":%v}`, at/60, at%60, name, event, state, final)
	}
	ran := func(from, to int, event, name string) []string {
		return []string{hook(from, event, name, "applying", false), hook(to, event, name, "ready", true)}
	}
	shift := func(lines []string, by time.Duration) (out []string) {
		for _, line := range lines {
			before, after, _ := strings.Cut(line, `"timestamp":"`)
			text, after, _ := strings.Cut(after, `"`)
			at, err := time.Parse(time.RFC3339Nano, text)
			require.NoError(t, err)
			out = append(out, before+`"timestamp":"`+at.Add(by).Format(time.RFC3339Nano)+`"`+after)
		}
		return out
	}
	between := slices.IndexFunc(events, func(line string) bool {
		return strings.Contains(line, `"waveStart"`) && strings.Contains(line, `"wave":3`)
	})
	all := slices.Concat(
		events[:2], ran(2, 5, "pre-upgrade", "backup"), ran(5, 9, "pre-upgrade", "migrate"),
		shift(events[2:between], 10*time.Second), ran(196, 199, "Sync", "check"),
		shift(events[between:len(events)-1], 15*time.Second), ran(266, 270, "post-upgrade", "test"),
		shift(events[len(events)-1:], 25*time.Second),
	)
	run, err := Read(strings.NewReader(strings.Join(all, "\n") + "\n"))
	require.NoError(t, err)
	p := run.Parts[0]
	var path []string
	for _, s := range p.CriticalPath(run.Schedule) {
		name := "preparation"
		switch {
		case s.Hook:
			name = p.Hooks[s.Of].Name
		case s.Of >= 0:
			name = p.Resources[s.Of].Name
		}
		path = append(path, fmt.Sprintf("%s at %v took %v", name, s.From, s.Cost))
	}
	require.Equal(t, []string{
		"preparation at 0s took 2s", "backup at 2s took 3s", "migrate at 5s took 5s", "shop at 10s took 1s", "kafka at 11s took 3m5s",
		"check at 3m16s took 5s", "app at 3m21s took 1m4s", "test at 4m26s took 4s",
	}, path)

	all = slices.Concat(events[:2], ran(2, 9, "pre-upgrade", "migrate"), shift(events[2:len(events)-1], 10*time.Second), ran(261, 265, "post-upgrade", "test"))
	run, err = Read(strings.NewReader(strings.Join(all, "\n") + "\n"))
	require.NoError(t, err)
	segments := run.Parts[0].CriticalPath(run.Schedule)
	app := segments[len(segments)-2]
	require.Equal(t, "env", app.Why)
	require.Equal(t, 10*time.Second+186*time.Second+5*time.Second, app.Without, "no edge makes the hooks shorter")
}
