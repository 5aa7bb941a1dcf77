// Command release makes the container images of a release from the binaries that
// GoReleaser built:
//
//	release -dist bin/release            # writes bin/release/images
//	release -dist bin/release -push      # and pushes them, with the version as tag
//
// An image is FROM scratch: the program, an /etc/passwd with the user nobody, and nothing
// else. For each program it writes images/PROGRAM, an OCI layout for all processors, and
// images/PROGRAM_ARCH.tar, which `docker load` reads. images/digests.txt has the digests of
// the indexes, as sha256sum prints them, for signatures. The same binaries give the same
// images, byte for byte.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// registry is where the images are pushed to, each under the name of its program.
const registry = "ghcr.io/ordapply/"

func main() {
	dist := flag.String("dist", "", "folder that GoReleaser wrote")
	push := flag.Bool("push", false, "push the images to "+registry)
	flag.Parse()
	if err := run(*dist, *push); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// binary is an entry of GoReleaser's artifacts.json.
type binary struct {
	Type, Name, Path, Goos, Goarch string
}

// build is GoReleaser's metadata.json.
type build struct {
	Version, Commit string
	Date            time.Time
}

func run(dist string, push bool) error {
	var all []binary
	var from build
	if err := errors.Join(readJSON(filepath.Join(dist, "artifacts.json"), &all), readJSON(filepath.Join(dist, "metadata.json"), &from)); err != nil {
		return err
	}
	var digests strings.Builder
	for _, program := range []string{"ordapply", "sortorder"} {
		images := map[string]v1.Image{}
		for _, b := range all {
			if b.Type != "Binary" || b.Goos != "linux" || b.Name != program {
				continue
			}
			image, err := imageOf(filepath.Join(dist, rest(b.Path)), b, from)
			if err != nil {
				return fmt.Errorf("image of %s: %w", b.Path, err)
			}
			images[b.Goarch] = image
		}
		if len(images) == 0 {
			return fmt.Errorf("%s has no binary of %s for Linux", dist, program)
		}
		digest, err := store(filepath.Join(dist, "images"), program, images, from, push)
		if err != nil {
			return fmt.Errorf("image of %s: %w", program, err)
		}
		fmt.Fprintf(&digests, "%s  %s\n", digest.Hex, registry+program)
	}
	return os.WriteFile(filepath.Join(dist, "images", "digests.txt"), []byte(digests.String()), 0o644)
}

// rest returns a path below the folder of GoReleaser, such as
// ordapply_linux_amd64_v1/ordapply: it records it from where it ran.
func rest(path string) string {
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

// store writes the images of a program, and pushes them if asked. It returns the digest of
// their index.
func store(dir, program string, images map[string]v1.Image, from build, push bool) (digest v1.Hash, err error) {
	index := indexOf(images, from, program)
	folder := filepath.Join(dir, program)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return digest, err
	}
	// The layout has one entry, the index of all processors, as `crane push` expects.
	path, err := layout.Write(folder, empty())
	if err != nil {
		return digest, err
	}
	tag, err := name.NewTag(registry + program + ":" + from.Version)
	if err != nil {
		return digest, err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag.String()})); err != nil {
		return digest, err
	}
	for arch, image := range images {
		if err := tarball.WriteToFile(filepath.Join(dir, program+"_"+arch+".tar"), tag, image); err != nil {
			return digest, err
		}
	}
	if push {
		if err := remote.WriteIndex(tag, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return digest, err
		}
	}
	return index.Digest()
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: run goreleaser first", err)
	}
	return json.Unmarshal(text, into)
}
