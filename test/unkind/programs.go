package unkind

import (
	"embed"
	"path"
	"strings"
)

// Program is the install of a program. Its stream has the text $CA where the program's
// chart puts the CA that it generates.
type Program struct {
	Name   string
	Stream []byte
}

//go:embed testdata/*.yaml
var testdata embed.FS

// Programs returns the programs, by name.
func Programs() ([]Program, error) {
	files, err := testdata.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	var programs []Program
	for _, file := range files {
		stream, err := testdata.ReadFile(path.Join("testdata", file.Name()))
		if err != nil {
			return nil, err
		}
		programs = append(programs, Program{strings.TrimSuffix(file.Name(), ".yaml"), stream})
	}
	return programs, nil
}
