package openapi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	client "k8s.io/client-go/openapi"
)

// published is the document of the group and version "apps/v1", and counts how often it is read.
type published struct {
	address, text string
	err           error
	reads         int
}

func (p *published) Paths() (map[string]client.GroupVersion, error) {
	return map[string]client.GroupVersion{"apis/apps/v1": p}, nil
}
func (p *published) ServerRelativeURL() string { return p.address }
func (p *published) Schema(string) ([]byte, error) {
	p.reads++
	return []byte(p.text), p.err
}

const document = `{"paths":{},"components":{"schemas":{"a":{}}}}`

// folderAt keeps files in a folder that exists.
func folderAt(path string) Folder {
	return Folder{
		Read:  func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(path, name)) },
		Write: func(name string, text []byte) error { return os.WriteFile(filepath.Join(path, name), text, 0o600) },
	}
}

func readKept(t *testing.T, source *published, folder, server, contentType string) (string, error) {
	t.Helper()
	paths, err := Kept(source, folderAt(folder), server).Paths()
	require.NoError(t, err)
	text, err := paths["apis/apps/v1"].Schema(contentType)
	return string(text), err
}

// A document is kept from its components on until its hash changes, for each server.
func TestKept(t *testing.T) {
	folder := t.TempDir()
	source := &published{address: "/openapi/v3/apis/apps/v1?hash=1", text: document}
	expect := func(server, want string, reads int) {
		t.Helper()
		text, err := readKept(t, source, folder, server, runtime.ContentTypeJSON)
		require.NoError(t, err)
		require.Equal(t, want, text)
		require.Equal(t, reads, source.reads)
	}
	expect("one", `{"components":{"schemas":{"a":{}}}}`, 1)
	expect("one", `{"components":{"schemas":{"a":{}}}}`, 1)
	expect("two", `{"components":{"schemas":{"a":{}}}}`, 2)
	source.address, source.text = "/openapi/v3/apis/apps/v1?hash=2", `{"components":{}}`
	expect("one", `{"components":{}}`, 3)
	expect("one", `{"components":{}}`, 3)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, 2, "an older document is replaced")
}

// What was not kept whole is read again, and so is what has no hash or another form.
func TestNotKept(t *testing.T) {
	for name, c := range map[string]struct {
		address, contentType string
		damage               func(file string) error
	}{
		"cut":        {"/openapi/v3/apis/apps/v1?hash=1", runtime.ContentTypeJSON, func(file string) error { return os.Truncate(file, 40) }},
		"empty":      {"/openapi/v3/apis/apps/v1?hash=1", runtime.ContentTypeJSON, func(file string) error { return os.Truncate(file, 0) }},
		"other text": {"/openapi/v3/apis/apps/v1?hash=1", runtime.ContentTypeJSON, func(file string) error { return os.WriteFile(file, []byte(document+document), 0o600) }},
		"no hash":    {"/openapi/v3/apis/apps/v1", runtime.ContentTypeJSON, nil},
		"protobuf":   {"/openapi/v3/apis/apps/v1?hash=1", runtime.ContentTypeProtobuf, nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			source := &published{address: c.address, text: document}
			first, err := readKept(t, source, folder, "one", c.contentType)
			require.NoError(t, err)
			files, err := filepath.Glob(filepath.Join(folder, "*"))
			require.NoError(t, err)
			if c.damage == nil {
				require.Empty(t, files)
			} else {
				require.Len(t, files, 1)
				require.NoError(t, c.damage(files[0]))
			}
			again, err := readKept(t, source, folder, "one", c.contentType)
			require.NoError(t, err)
			require.Equal(t, first, again)
			require.Equal(t, 2, source.reads)
		})
	}
}

// A folder that cannot be written keeps nothing. The error of the server is returned.
func TestKeptNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	source := &published{address: "/openapi/v3/apis/apps/v1?hash=1", text: document}
	for range 2 {
		text, err := readKept(t, source, file, "one", runtime.ContentTypeJSON)
		require.NoError(t, err)
		require.NotEmpty(t, text)
	}
	require.Equal(t, 2, source.reads)
	source.err = errors.New("unavailable")
	_, err := readKept(t, source, t.TempDir(), "one", runtime.ContentTypeJSON)
	require.ErrorIs(t, err, source.err)
}
