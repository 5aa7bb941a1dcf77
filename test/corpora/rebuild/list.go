package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// stream is a row of the list.
type stream struct {
	// Name is the path of the file without .yaml, with slashes.
	Name         string
	Repositories []repository
	// Command is a bash script that prints the documents; see render.sh.
	Command string
	// SHA256 is the checksum of the documents, in hexadecimal digits.
	SHA256 string
}

// repository is a repository at a commit.
type repository struct {
	URL, Commit, License string
	// Paths are the files and folders that the command reads.
	Paths []string
}

// read reads the list. Fields that a row does not have are errors.
func read(list string) ([]stream, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var streams []stream
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&streams); err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	return streams, nil
}

// file returns the path of the stream's file below a folder.
func (s stream) file(folder string) string {
	return filepath.Join(folder, filepath.FromSlash(s.Name)+".yaml")
}

// header returns the comments at the beginning of the file.
func (s stream) header() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# corpus: %s\n", s.Name)
	for _, r := range s.Repositories {
		fmt.Fprintf(&b, "# repo: %s commit %s license %s\n", r.URL, r.Commit, r.License)
	}
	return b.Bytes()
}
