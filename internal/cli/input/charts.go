package input

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/text/tree"
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

// ReadCharts reads the order of a chart and of the subcharts in its charts folder, packed
// or not. The chart itself may be packed, too.
func ReadCharts(ctx context.Context, c *console.Console, folder string) ([]ordering.Chart, error) {
	files, err := readChartFiles(ctx, c, folder)
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	if files["."] == nil {
		return nil, fmt.Errorf("read the chart: %s contains no Chart.yaml", folder)
	}
	tree := chartTree{files: files, parsed: map[string]chartFile{}}
	if err := tree.add(".", "", 1); err != nil {
		return nil, err
	}
	return tree.charts, nil
}

// chartTree collects a chart and its subcharts, each before its own subcharts.
type chartTree struct {
	files  map[string][]byte    // content of Chart.yaml by its folder, "." for the chart itself
	parsed map[string]chartFile // of files
	charts []ordering.Chart
}

// add adds the chart in a folder and its subcharts. at is the path by which Helm names the
// chart's resources; "" for the top-level chart, which has its own name.
func (t *chartTree) add(folder, at string, depth int) error {
	if depth > limits.ChartDepth {
		return tooDeep(path.Join(folder, "Chart.yaml"))
	}
	if len(t.charts) > limits.ChartCount {
		return fmt.Errorf("the chart has more than %d subcharts: remove dependencies from its Chart.yaml files", limits.ChartCount)
	}
	file, err := t.parse(folder)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(folder, "Chart.yaml"), err)
	}
	at = cmp.Or(at, file.Name)
	chart, err := file.chart(at)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(folder, "Chart.yaml"), err)
	}
	t.charts = append(t.charts, chart)
	for _, d := range chart.Dependencies {
		within := path.Join(folder, "charts", d.Name)
		if t.files[within] == nil {
			continue
		}
		if err := t.add(within, at+"/charts/"+d.Title(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// parse parses the Chart.yaml in a folder, once.
func (t *chartTree) parse(folder string) (chartFile, error) {
	file, parsed := t.parsed[folder]
	if parsed {
		return file, nil
	}
	err := tree.Unmarshal(t.files[folder], &file)
	t.parsed[folder] = file
	return file, err
}

// chart returns the order in a Chart.yaml.
func (f chartFile) chart(at string) (ordering.Chart, error) {
	chart := ordering.Chart{Path: at}
	if waits, ok := f.Annotations["helm.sh/depends-on/subcharts"]; ok {
		text, err := json.Marshal(waits)
		if err == nil {
			err = (*textList)(&chart.DependsOn).UnmarshalJSON(text)
		}
		if err != nil {
			return chart, fmt.Errorf("annotation helm.sh/depends-on/subcharts: %v is not a list of names", waits)
		}
	}
	for _, d := range f.Dependencies {
		if d.Name == "." || d.Name == ".." || strings.Contains(d.Name, "/") {
			return chart, fmt.Errorf("the name %q of a dependency is not a name: write the name of the chart, which is that of its folder in charts", d.Name)
		}
		chart.Dependencies = append(chart.Dependencies, ordering.Dependency{Name: d.Name, Alias: d.Alias, Tags: d.Tags, DependsOn: d.DependsOn})
	}
	return chart, nil
}
