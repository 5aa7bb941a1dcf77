package orderfile

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/abortable"
	"github.com/ordapply/ordapply/ordering"
)

// chartFile holds the fields of a Chart.yaml that are read.
type chartFile struct {
	Name         string         `json:"name"`
	Annotations  map[string]any `json:"annotations"`
	Dependencies []struct {
		Name      string   `json:"name"`
		Alias     string   `json:"alias"`
		Tags      []string `json:"tags"`
		DependsOn textList `json:"depends-on"`
	} `json:"dependencies"`
}

// textList is a list that may also be written as a string with JSON or commas.
type textList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *textList) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*[]string)(l))
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return json.Unmarshal([]byte(text), (*[]string)(l))
	}
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			*l = append(*l, entry)
		}
	}
	return nil
}

// ReadCharts reads what a chart, and the subcharts in its charts folder, packed
// or not, say about their order.
func ReadCharts(ctx context.Context, folder string) ([]ordering.Chart, error) {
	files := map[string][]byte{} // content of Chart.yaml by its folder, "." for the chart itself
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		return addChartFile(files, filepath.ToSlash(rel), func() ([]byte, error) { return abortable.ReadFile(ctx, name, "--chart") })
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	if files["."] == nil {
		return nil, fmt.Errorf("read the chart: %s contains no Chart.yaml", folder)
	}
	return chartsIn(files, ".", "")
}

// addChartFile stores a Chart.yaml, or those in a packed chart.
func addChartFile(files map[string][]byte, name string, read func() ([]byte, error)) error {
	packed := path.Base(path.Dir(name)) == "charts" && path.Ext(name) == ".tgz"
	if path.Base(name) != "Chart.yaml" && !packed {
		return nil
	}
	data, err := read()
	if err != nil {
		return err
	}
	if !packed {
		files[path.Dir(name)] = data
		return nil
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		within := path.Join(path.Dir(name), path.Clean("/"+header.Name))
		if err := addChartFile(files, within, func() ([]byte, error) { return io.ReadAll(archive) }); err != nil {
			return err
		}
	}
}

// chartsIn returns the chart in a folder and its subcharts. at is the path by
// which Helm names the chart's resources; "" for the top-level chart, which has
// its own name.
func chartsIn(files map[string][]byte, folder, at string) ([]ordering.Chart, error) {
	var file chartFile
	if err := yaml.Unmarshal(files[folder], &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(folder, "Chart.yaml"), err)
	}
	at = cmp.Or(at, file.Name)
	chart := ordering.Chart{Path: at}
	if waits, ok := file.Annotations["helm.sh/depends-on/subcharts"]; ok {
		text, err := json.Marshal(waits)
		if err == nil {
			err = (*textList)(&chart.DependsOn).UnmarshalJSON(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: annotation helm.sh/depends-on/subcharts: %v is not a list of names", path.Join(folder, "Chart.yaml"), waits)
		}
	}
	charts := []ordering.Chart{}
	for _, d := range file.Dependencies {
		dependency := ordering.Dependency{Name: d.Name, Alias: d.Alias, Tags: d.Tags, DependsOn: d.DependsOn}
		chart.Dependencies = append(chart.Dependencies, dependency)
		within := path.Join(folder, "charts", d.Name)
		if files[within] == nil {
			continue
		}
		below, err := chartsIn(files, within, at+"/charts/"+dependency.Title())
		if err != nil {
			return nil, err
		}
		charts = append(charts, below...)
	}
	return append([]ordering.Chart{chart}, charts...), nil
}
