package sortorder_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// TestPlace runs testdata/place/*.txtar: an order, resources in a small
// language, one a line, and their expected layers.
//
//	-- order --      the SortOrder without its header
//	-- resources --  v1 Secret shop/db tier=data label:app=web
//	-- want --       data: Secret shop/db
//
// Resources are placed as written and in ten shuffles, except for orders that
// depend on the input order (fifo, helm).
func TestPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/place/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := archiveOf(t, file)
			order, err := sortorder.Parse(withHeader(archive["order"]))
			require.NoError(t, err)
			metas := metasOf(t, archive["resources"])
			require.Equal(t, archive["want"], placed(order, metas))
			require.Equal(t, archive["layers"], layerLines(order, archive))
			if strings.Contains(archive["order"], "fifo") || strings.Contains(archive["order"], "helm") {
				return
			}
			for range 10 {
				rand.Shuffle(len(metas), func(i, j int) { metas[i], metas[j] = metas[j], metas[i] })
				require.Equal(t, archive["want"], placed(order, metas))
			}
		})
	}
}

func archiveOf(t *testing.T, file string) map[string]string {
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range archive.Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

func withHeader(body string) []byte {
	return []byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: platform}\n" + body)
}

func metasOf(t *testing.T, lines string) []object.Meta {
	var metas []object.Meta
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		require.GreaterOrEqual(t, len(fields), 3, line)
		m := object.Meta{Labels: map[string]string{}, Annotations: map[string]string{}}
		m.Group, m.Version = object.SplitAPIVersion(fields[0])
		m.Kind = fields[1]
		if ns, name, ok := strings.Cut(fields[2], "/"); ok {
			m.Namespace, m.Name = ns, name
		} else {
			m.Name = fields[2]
		}
		for _, pair := range fields[3:] {
			to := m.Annotations
			if rest, isLabel := strings.CutPrefix(pair, "label:"); isLabel {
				to, pair = m.Labels, rest
			}
			key, value, ok := strings.Cut(pair, "=")
			require.True(t, ok, line)
			to[key] = value
		}
		metas = append(metas, m)
	}
	return metas
}

func placed(order *sortorder.Order, metas []object.Meta) string {
	placements := order.Place(metas)
	var b strings.Builder
	for _, i := range order.Sort(metas, sortorder.Ranks(placements)) {
		fmt.Fprintf(&b, "%s: %s\n", placements[i].Layer.Name, metas[i].ID)
	}
	return b.String()
}

// layerLines prints the layers if a case has them.
func layerLines(order *sortorder.Order, archive map[string]string) string {
	if _, requested := archive["layers"]; !requested {
		return ""
	}
	var b strings.Builder
	for _, l := range order.Layers {
		fmt.Fprintf(&b, "%d %s", l.Rank, l.Name)
		if l.Needs != nil {
			fmt.Fprintf(&b, " needs [%s]", strings.Join(l.Needs, " "))
		}
		if l.Listed {
			b.WriteString(" listed")
		}
		if l.Applied {
			b.WriteString(" gate applied")
		}
		if l.Timeout > 0 {
			fmt.Fprintf(&b, " timeout %s", l.Timeout)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestRefuse runs testdata/refuse/*.txtar: an invalid order with all its
// problems.
func TestRefuse(t *testing.T) {
	files, err := filepath.Glob("testdata/refuse/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := archiveOf(t, file)
			document := withHeader(archive["order"])
			if whole, ok := archive["document"]; ok {
				document = []byte(whole)
			}
			_, err := sortorder.Parse(document)
			require.Error(t, err)
			require.Equal(t, archive["want"], err.Error()+"\n")
			require.IsType(t, sortorder.Problems{}, err)
		})
	}
}
