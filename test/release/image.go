package main

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	emptyimage "github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// kustomize and kpt run functions as the user *name* nobody.
const passwd = "nobody:x:65534:65534:nobody:/:/sbin/nologin\n"

// imageOf returns the image of a binary.
func imageOf(file string, b binary, from build) (v1.Image, error) {
	text, err := layerText(file, b.Name, from.Date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(emptyimage.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{CreatedBy: "ordapply release", Created: v1.Time{Time: from.Date}}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configOf(image, b, from))
}

// configOf returns how the image is run.
func configOf(image v1.Image, b binary, from build) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made above, in memory
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = b.Goos, b.Goarch
	config.Created = v1.Time{Time: from.Date}
	config.Config.User = "65534:65534"
	config.Config.Entrypoint = []string{"/" + b.Name}
	config.Config.Env = []string{"PATH=/", "HOME=/"}
	config.Config.Labels = labels(b.Name, from)
	return config
}

func labels(program string, from build) map[string]string {
	const key = "org.opencontainers.image."
	return map[string]string{
		key + "title":    program,
		key + "version":  from.Version,
		key + "revision": from.Commit,
		key + "created":  from.Date.UTC().Format(time.RFC3339),
		key + "source":   "https://github.com/ordapply/ordapply",
		key + "licenses": "Apache-2.0",
	}
}

// layerText is a tar file with the program and its user.
func layerText(file, program string, date time.Time) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		name    string
		mode    int64
		content []byte
	}{
		{"etc/passwd", 0o644, []byte(passwd)},
		{program, 0o755, content},
	} {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: date.Truncate(time.Second), Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// indexOf returns one image for all processors.
func indexOf(images map[string]v1.Image, from build, program string) v1.ImageIndex {
	index := empty()
	for _, arch := range slices.Sorted(maps.Keys(images)) {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        images[arch],
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return mutate.Annotations(index, labels(program, from)).(v1.ImageIndex)
}

func empty() v1.ImageIndex { return mutate.IndexMediaType(emptyimage.Index, types.OCIImageIndex) }
