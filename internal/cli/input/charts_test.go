package input

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/test/smallmemory"
)

// chartFolder writes a chart's files, by their path.
func chartFolder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, content, 0o600))
	}
	return folder
}

// chartText is a Chart.yaml with dependencies.
func chartText(name string, dependencies ...string) []byte {
	text := "name: " + name + "\ndependencies:\n"
	for i, d := range dependencies {
		text += fmt.Sprintf("- {name: %q, alias: a%d}\n", d, i)
	}
	return []byte(text)
}

// packedEntry is a file of an archive; after its text follow zeros up to size.
type packedEntry struct {
	name, text string
	size       int64
}

func packed(t *testing.T, entries ...packedEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		size := max(e.size, int64(len(e.text)))
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: e.name, Size: size, Mode: 0o600}))
		_, err := io.WriteString(archive, e.text)
		require.NoError(t, err)
		_, err = io.CopyN(archive, zeros{}, size-int64(len(e.text)))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// inside packs a chart into the charts folder of another, depth times.
func inside(t *testing.T, depth int) []byte {
	t.Helper()
	chart := packed(t, packedEntry{name: "x/Chart.yaml", text: "name: x"})
	for range depth {
		chart = packed(t, packedEntry{name: "x/Chart.yaml", text: string(chartText("x", "x"))}, packedEntry{name: "x/charts/x.tgz", text: string(chart)})
	}
	return chart
}

func TestPackedChartsInsideOneAnotherAreRead(t *testing.T) {
	charts, err := ReadCharts(t.Context(), console.New(nil, io.Discard, io.Discard), chartFolder(t, map[string][]byte{"Chart.yaml": chartText("shop", "x"), "charts/x.tgz": inside(t, 2)}))
	require.NoError(t, err)
	require.Len(t, charts, 4)
	require.Equal(t, "shop/charts/a0/charts/a0/charts/a0", charts[3].Path)
}

// No chart, however it is written or packed, takes more than little memory and time.
func TestChartsAreBounded(t *testing.T) {
	if !smallmemory.Within(t, 2048) {
		return
	}
	many := map[string][]byte{"Chart.yaml": chartText("shop", "x", "x", "x", "x")}
	folder := ""
	for range limits.ChartDepth - 2 {
		folder += "charts/x/"
		many[folder+"Chart.yaml"] = chartText("x", "x", "x", "x", "x")
	}
	large := []byte("name: x\ndescription: " + strings.Repeat("x", limits.ChartFile))
	laughs := "name: x\nannotations:\n  k: &s " + strings.Repeat("s", 100<<10)
	for i := range 10_000 {
		laughs += fmt.Sprintf("\n  k%d: *s", i)
	}
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"a chart that contains itself":     {map[string][]byte{"Chart.yaml": chartText("loop", "..")}, `Chart.yaml: the name ".." of a dependency is not a name`},
		"a chart of the same folder":       {map[string][]byte{"Chart.yaml": chartText("loop", ".")}, `the name "." of a dependency`},
		"charts that contain each other":   {map[string][]byte{"Chart.yaml": chartText("a", "b"), "charts/b/Chart.yaml": chartText("b", "../../../x")}, `b/Chart.yaml: the name "../../../x" of a dependency`},
		"packed charts inside one another": {map[string][]byte{"Chart.yaml": chartText("shop", "x"), "charts/x.tgz": inside(t, limits.ChartDepth+1)}, "more than 20 charts are inside one another"},
		"a chart that multiplies":          {many, "more than 1000 subcharts"},
		"a large Chart.yaml":               {map[string][]byte{"Chart.yaml": large}, "Chart.yaml is larger than 1 MiB"},
		"a large packed Chart.yaml":        {map[string][]byte{"Chart.yaml": chartText("shop", "x"), "charts/x.tgz": packed(t, packedEntry{name: "x/Chart.yaml", text: string(large)})}, "Chart.yaml is larger than 1 MiB"},
		"a Chart.yaml with aliases":        {map[string][]byte{"Chart.yaml": []byte(laughs)}, "its aliases expand to more than 16 MiB"},
		"a file of zeros": {map[string][]byte{"Chart.yaml": chartText("shop", "x"), "charts/x.tgz": packed(t, packedEntry{name: "x/icon", size: limits.ChartPacked + 1})},
			"charts/x.tgz: the packed charts are larger than 100 MiB"},
		"a Chart.yaml of zeros": {map[string][]byte{"Chart.yaml": chartText("shop", "x"), "charts/x.tgz": packed(t, packedEntry{name: "x/Chart.yaml", size: 300 << 20})}, "Chart.yaml is larger than 1 MiB"},
		"many packed charts, each below the limit": {map[string][]byte{"Chart.yaml": chartText("shop", "x", "y"),
			"charts/x.tgz": packed(t, packedEntry{name: "x/icon", size: limits.ChartPacked/2 + 1}), "charts/y.tgz": packed(t, packedEntry{name: "y/icon", size: limits.ChartPacked/2 + 1})},
			"charts/y.tgz: the packed charts are larger than 100 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadCharts(t.Context(), console.New(nil, io.Discard, io.Discard), chartFolder(t, c.files))
			require.ErrorContains(t, err, c.want)
		})
	}
}
