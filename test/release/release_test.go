package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// These tests install the files of `make release-snapshot`, each into an empty home.

func dist(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../bin/release")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "images")); err != nil {
		t.Skip("skipped: it needs the results of `make release-snapshot`")
	}
	return dir
}

// metadata returns the build of the results.
func metadata(t *testing.T) build {
	t.Helper()
	var from build
	require.NoError(t, readJSON(filepath.Join(dist(t), "metadata.json"), &from))
	return from
}

// sums returns the checksums by file name, each of which is right.
func sums(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist(t), "checksums.txt"))
	require.NoError(t, err)
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, found, line)
		content, err := os.ReadFile(filepath.Join(dist(t), name))
		require.NoError(t, err)
		have := sha256.Sum256(content)
		require.Equal(t, sum, hex.EncodeToString(have[:]), name)
		out[name] = sum
	}
	return out
}

func systems() []string {
	return []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"}
}

// archive returns the name of an archive.
func archive(t *testing.T, program, system string) string {
	t.Helper()
	ending := ".tar.gz"
	if strings.HasPrefix(system, "windows") {
		ending = ".zip"
	}
	return program + "_" + metadata(t).Version + "_" + system + ending
}

// unpack returns the files of an archive.
func unpack(t *testing.T, name string) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist(t), name))
	require.NoError(t, err)
	files := map[string][]byte{}
	if strings.HasSuffix(name, ".zip") {
		reader, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		require.NoError(t, err)
		for _, f := range reader.File {
			content, err := f.Open()
			require.NoError(t, err)
			files[f.Name], err = io.ReadAll(content)
			require.NoError(t, err)
		}
		return files
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	require.NoError(t, err)
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		files[header.Name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
}

// inHome runs a command whose home is empty but for installed files.
func inHome(t *testing.T, home, stdin string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin")}
	cmd.Dir, cmd.Stdin = home, strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%v: %s", command, &stderr)
	return string(out)
}

// requireOwnVersion checks the output of `version -o json`.
func requireOwnVersion(t *testing.T, printed string) {
	t.Helper()
	var v struct{ Version, Commit, Platform string }
	require.NoError(t, json.Unmarshal([]byte(printed), &v))
	require.Equal(t, metadata(t).Commit, v.Commit)
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, v.Platform)
	require.Regexp(t, `^v\d+\.\d+\.\d+`, v.Version)
}

const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"

// Each system has an archive of each program, with its licence, in the checksums.
func TestArchives(t *testing.T) {
	known := sums(t)
	for _, system := range systems() {
		for _, program := range []string{"ordapply", "sortorder"} {
			name := archive(t, program, system)
			require.Contains(t, known, name)
			files, binary := unpack(t, name), program
			if strings.HasPrefix(system, "windows") {
				binary += ".exe"
			}
			for _, file := range []string{binary, "LICENSE", "README.md", "CHANGELOG.md", "share/man/man1/" + program + ".1"} {
				require.NotEmpty(t, files[file], "%s: %s", name, file)
			}
			if program == "sortorder" {
				require.Len(t, files, 5, name)
				continue
			}
			for _, file := range []string{"man/man1/ordapply-apply.1", "bash-completion/completions/ordapply", "zsh/site-functions/_ordapply", "fish/vendor_completions.d/ordapply.fish", "powershell/completions/ordapply.ps1", "kubectl/kubectl_complete-ordapply"} {
				require.NotEmpty(t, files["share/"+file], "%s: %s", name, file)
			}
		}
	}
}

func TestInstallFromArchive(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "bin"), 0o755))
	for _, program := range []string{"ordapply", "sortorder"} {
		file := filepath.Join(home, "bin", program)
		require.NoError(t, os.WriteFile(file, unpack(t, archive(t, program, runtime.GOOS+"_"+runtime.GOARCH))[program], 0o755))
		requireOwnVersion(t, inHome(t, home, "", file, "version", "-o", "json"))
	}
	planned := inHome(t, home, secret, filepath.Join(home, "bin", "ordapply"), "plan", "--dry-run=client", "-f", "-")
	require.Contains(t, planned, "Namespace b")
}

// The SBOM of each binary lists the modules in it.
func TestSBOMs(t *testing.T) {
	for _, system := range systems() {
		for _, program := range []string{"ordapply", "sortorder"} {
			name := program + "_" + metadata(t).Version + "_" + system + ".cdx.json"
			var bom struct{ Components []struct{ Name string } }
			require.NoError(t, readJSON(filepath.Join(dist(t), name), &bom))
			var names []string
			for _, c := range bom.Components {
				names = append(names, c.Name)
			}
			require.Contains(t, names, "go.yaml.in/yaml/v3", name)
		}
	}
}

// The krew manifest names each archive with its checksum, and krew's installation, a folder
// in its store and a link, runs as `kubectl ordapply`.
func TestInstallFromKrew(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dist(t), "krew", "ordapply.yaml"))
	require.NoError(t, err)
	var plugin struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version   string
			Platforms []struct {
				Bin, URI, Sha256 string
				Selector         struct {
					MatchLabels struct{ OS, Arch string } `yaml:"matchLabels"`
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &plugin))
	require.Equal(t, "ordapply", plugin.Metadata.Name)
	require.Equal(t, "v"+metadata(t).Version, plugin.Spec.Version)
	require.Len(t, plugin.Spec.Platforms, len(systems()))
	known, installed := sums(t), false
	for _, p := range plugin.Spec.Platforms {
		name := p.URI[strings.LastIndex(p.URI, "/")+1:]
		require.Equal(t, known[name], p.Sha256, p.URI)
		files := unpack(t, name)
		require.NotEmpty(t, files[p.Bin], "%s: %s", name, p.Bin)
		if p.Selector.MatchLabels.OS != runtime.GOOS || p.Selector.MatchLabels.Arch != runtime.GOARCH {
			continue
		}
		installed = true
		home := t.TempDir()
		store := filepath.Join(home, ".krew", "store", "ordapply", plugin.Spec.Version)
		require.NoError(t, os.MkdirAll(store, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(store, p.Bin), files[p.Bin], 0o755))
		require.NoError(t, os.Mkdir(filepath.Join(home, "bin"), 0o755))
		link := filepath.Join(home, "bin", "kubectl-ordapply")
		require.NoError(t, os.Symlink(filepath.Join(store, p.Bin), link))
		require.Contains(t, inHome(t, home, "", link, "--help"), "kubectl ordapply [command]")
		if kubectl := kubectl(t); kubectl != "" {
			requireOwnVersion(t, inHome(t, home, "", kubectl, "ordapply", "version", "-o", "json"))
		}
	}
	require.True(t, installed)
}

// kubectl returns the path of kubectl, of the control plane if that is built.
func kubectl(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command(filepath.Join(os.Getenv("ORDAPPLY_BIN"), "localcluster"), "build", "--print-dir").Output(); err == nil {
		file := filepath.Join(strings.TrimSpace(string(out)), "kubectl")
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	file, err := exec.LookPath("kubectl")
	if err != nil {
		t.Log("kubectl is missing: the plugin was run without it")
	}
	return file
}

// The formulae name archives of macOS and Linux with their checksums.
func TestFormulae(t *testing.T) {
	known := sums(t)
	for _, program := range []string{"ordapply", "sortorder"} {
		text, err := os.ReadFile(filepath.Join(dist(t), "homebrew", "Formula", program+".rb"))
		require.NoError(t, err)
		found := regexp.MustCompile(`url "([^"]+)"\s*sha256 "([0-9a-f]+)"`).FindAllStringSubmatch(string(text), -1)
		require.Len(t, found, 4)
		for _, f := range found {
			require.Equal(t, known[f[1][strings.LastIndex(f[1], "/")+1:]], f[2], f[1])
		}
	}
}

// The layouts are valid and for both processors; the user is not root. The digest of each is
// signed.
func TestImageLayouts(t *testing.T) {
	digests, err := os.ReadFile(filepath.Join(dist(t), "images", "digests.txt"))
	require.NoError(t, err)
	for _, program := range []string{"ordapply", "sortorder"} {
		outer, err := layout.ImageIndexFromPath(filepath.Join(dist(t), "images", program))
		require.NoError(t, err)
		require.NoError(t, validate.Index(outer))
		manifest, err := outer.IndexManifest()
		require.NoError(t, err)
		require.Len(t, manifest.Manifests, 1)
		require.Contains(t, string(digests), manifest.Manifests[0].Digest.Hex+"  ghcr.io/ordapply/"+program+"\n")
		index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
		require.NoError(t, err)
		manifest, err = index.IndexManifest()
		require.NoError(t, err)
		var processors []string
		for _, one := range manifest.Manifests {
			image, err := index.Image(one.Digest)
			require.NoError(t, err)
			config, err := image.ConfigFile()
			require.NoError(t, err)
			require.Equal(t, "65534:65534", config.Config.User)
			require.Equal(t, []string{"/" + program}, config.Config.Entrypoint)
			require.Equal(t, metadata(t).Commit, config.Config.Labels["org.opencontainers.image.revision"])
			require.Equal(t, one.Platform.Architecture, config.Architecture)
			require.Len(t, config.RootFS.DiffIDs, 1)
			processors = append(processors, config.Architecture)
		}
		require.Equal(t, []string{"amd64", "arm64"}, processors)
	}
}

// The images run without network, root, or anything to write to.
func TestRunImages(t *testing.T) {
	if exec.Command("docker", "version").Run() != nil {
		t.Skip("skipped: it needs a Docker engine")
	}
	for program, args := range map[string][]string{"ordapply": {"plan", "--dry-run=client", "-f", "-"}, "sortorder": {"strip"}} {
		out, err := exec.Command("docker", "load", "-q", "-i", filepath.Join(dist(t), "images", program+"_"+runtime.GOARCH+".tar")).CombinedOutput()
		require.NoError(t, err, "%s", out)
		tag := registry + program + ":" + metadata(t).Version
		t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", tag).Run() })
		run := append([]string{"run", "--rm", "-i", "--network", "none", "--read-only", "--cap-drop", "ALL", tag}, args...)
		out, err = exec.Command("docker", "run", "--rm", "--read-only", "--network", "none", tag, "version", "-o", "json").CombinedOutput()
		require.NoError(t, err, "%s", out)
		requireOwnVersion(t, string(out))
		cmd := exec.Command("docker", run...)
		cmd.Stdin = strings.NewReader(secret)
		out, err = cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "Namespace")
	}
}

// A binary of `go install` at a tag reports that tag. The module is served from a folder,
// as a proxy serves it.
func TestGoInstall(t *testing.T) {
	const path, tag = "github.com/ordapply/ordapply", "v0.0.1-test"
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	proxy := filepath.Join(t.TempDir(), "proxy")
	folder := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, tag+".mod"), gomod, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, tag+".info"), []byte(`{"Version":"`+tag+`"}`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "list"), []byte(tag+"\n"), 0o644))
	archived, err := os.Create(filepath.Join(folder, tag+".zip"))
	require.NoError(t, err)
	require.NoError(t, modzip.CreateFromVCS(archived, module.Version{Path: path, Version: tag}, root, "HEAD", ""))
	require.NoError(t, archived.Close())
	bin := t.TempDir()
	upstream, err := exec.Command("go", "env", "GOPROXY").Output()
	require.NoError(t, err)
	cmd := exec.Command("go", "install", "-modcacherw", path+"/cmd/...@"+tag)
	cmd.Dir = bin
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=", "GOSUMDB=off", "GOPROXY=file://"+filepath.ToSlash(proxy)+","+strings.TrimSpace(string(upstream)))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() { removeModule(t, path+"@"+tag) })
	for _, program := range []string{"ordapply", "sortorder"} {
		require.Equal(t, program+" "+tag+"\n", inHome(t, t.TempDir(), "", filepath.Join(bin, program), "version"))
	}
}

// removeModule removes a version that exists only in a test from the module cache.
func removeModule(t *testing.T, version string) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	cache := strings.TrimSpace(string(out))
	path, tag, _ := strings.Cut(version, "@")
	files, err := filepath.Glob(filepath.Join(cache, "cache", "download", path, "@v", tag+".*"))
	require.NoError(t, err)
	for _, file := range append(files, filepath.Join(cache, version)) {
		require.NoError(t, os.RemoveAll(file))
	}
}
