package engines

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of Flux's artifacts (https://fluxcd.io/flux/cheatsheets/oci-artifacts/).
const (
	configType  = "application/vnd.cncf.flux.config.v1+json"
	contentType = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// push publishes a folder as an artifact that Flux and Argo CD read.
func push(dir, reference string) error {
	content, err := archive(dir)
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), configType)
	image, err = mutate.Append(image, mutate.Addendum{Layer: static.NewLayer(content, contentType)})
	if err != nil {
		return err
	}
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return err
	}
	return remote.Write(ref, image)
}

// archive returns the files of a folder as tar.gz, the same bytes for the same files.
func archive(dir string) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	packed := tar.NewWriter(zipped)
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if err := packed.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		_, err = packed.Write(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
