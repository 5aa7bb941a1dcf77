package input

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/limits"
)

// chartFiles reads the Chart.yaml files below a folder, also in packed charts.
type chartFiles struct {
	found  map[string][]byte // by their folder, "." for the chart itself
	packed int64             // bytes that were decompressed
}

// readChartFiles returns the content of each Chart.yaml by its folder, which is relative to
// the chart's: "." for the chart itself.
func readChartFiles(ctx context.Context, c *console.Console, folder string) (map[string][]byte, error) {
	files := chartFiles{found: map[string][]byte{}}
	if filepath.Ext(folder) == ".tgz" {
		return files.packedChart(ctx, c, folder)
	}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		return files.add(filepath.ToSlash(rel), 1, func() ([]byte, error) { return c.ReadFile(ctx, name, "--chart") })
	})
	return files.found, err
}

// packedChart returns the files of a packed chart, without its own folder.
func (f *chartFiles) packedChart(ctx context.Context, c *console.Console, file string) (map[string][]byte, error) {
	data, err := c.ReadFile(ctx, file, "--chart")
	if err != nil {
		return nil, err
	}
	if err := f.unpack(filepath.Base(file), 0, data); err != nil {
		return nil, err
	}
	inside := map[string][]byte{}
	for name, content := range f.found {
		_, below, _ := strings.Cut(name, "/")
		inside[path.Clean(below)] = content
	}
	return inside, nil
}

// add stores a Chart.yaml, or all in a packed chart; depth is the number of charts that one
// is in. It ignores other files.
func (f *chartFiles) add(name string, depth int, read func() ([]byte, error)) error {
	switch {
	case path.Base(name) == "Chart.yaml":
		data, err := read()
		if len(data) > limits.ChartFile {
			err = fmt.Errorf("%s is larger than %d MiB: move what does not belong in it to other files of the chart", name, limits.ChartFile>>20)
		}
		f.found[path.Dir(name)] = data
		return err
	case path.Base(path.Dir(name)) == "charts" && path.Ext(name) == ".tgz":
		data, err := read()
		if err != nil {
			return err
		}
		return f.unpack(name, depth, data)
	}
	return nil
}

// unpack adds the files in a packed chart.
func (f *chartFiles) unpack(name string, depth int, data []byte) error {
	if depth >= limits.ChartDepth {
		return tooDeep(name)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	archive := tar.NewReader(unpacked{f, zipped})
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		within := path.Join(path.Dir(name), path.Clean("/"+header.Name))
		if err := f.add(within, depth+1, func() ([]byte, error) { return readFile(within, archive) }); err != nil {
			return err
		}
	}
}

// readFile reads a file of a packed chart; of a Chart.yaml at most a byte more than the limit.
func readFile(name string, archive io.Reader) ([]byte, error) {
	if path.Base(name) == "Chart.yaml" {
		archive = io.LimitReader(archive, limits.ChartFile+1)
	}
	return io.ReadAll(archive)
}

// unpacked reads a packed chart, until all of them are larger than the limit. Skipped files
// count, too, because they are decompressed.
type unpacked struct {
	files  *chartFiles
	zipped io.Reader
}

// Read implements io.Reader.
func (u unpacked) Read(p []byte) (int, error) {
	n, err := u.zipped.Read(p)
	if u.files.packed += int64(n); u.files.packed > limits.ChartPacked {
		return 0, fmt.Errorf("the packed charts are larger than %d MiB when decompressed: remove what is not part of them, or unpack them", limits.ChartPacked>>20)
	}
	return n, err
}

// tooDeep returns the error for a chart in too many others.
func tooDeep(name string) error {
	return fmt.Errorf("%s: more than %d charts are inside one another: make them dependencies of one chart", name, limits.ChartDepth)
}
