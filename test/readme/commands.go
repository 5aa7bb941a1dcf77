// Package readme finds the commands in the documentation, and its tests run them.
//
//	for _, args := range readme.Commands(page, "ordapply") {
//		err := cmd.ParseFlags(args)
//	}
package readme

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Pages returns the text of each page for users, README.md and docs/*.md, and of the other
// pages at the top of the repository, by its path.
func Pages(root string) (map[string]string, error) {
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			pages[name] = string(text)
		}
	}
	return pages, nil
}

// Commands returns the arguments of each command line of a program on a page: in blocks, in
// inline code, and in prose where a flag follows the name.
func Commands(page, program string) [][]string {
	var commands [][]string
	prose := fenced.ReplaceAllStringFunc(strings.ReplaceAll(page, `\|`, "|"), func(block string) string {
		parts := fenced.FindStringSubmatch(block)
		for _, line := range commandLines(parts[1], parts[2]) {
			commands = append(commands, inLine(line, program)...)
		}
		return ""
	})
	prose = inline.ReplaceAllStringFunc(prose, func(span string) string {
		line := strings.Join(strings.Fields(strings.Trim(span, "`")), " ")
		commands = append(commands, inLine(line, program)...)
		return "`"
	})
	withFlag := regexp.MustCompile(`\b` + program + `((?:\s[a-z]+)?\s--?[a-z][\w-]*)`)
	for _, found := range withFlag.FindAllStringSubmatch(prose, -1) {
		commands = append(commands, strings.Fields(found[1]))
	}
	return commands
}

var (
	fenced = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	inline = regexp.MustCompile("`[^`]+`")
	// separators are between the commands of a line.
	separators = regexp.MustCompile(`\|+|&&|;|\$?\(|\)`)
	// before is what may stand before a command: a prompt, a keyword, an item or a field of
	// YAML, a variable.
	before = regexp.MustCompile(`^(?:\$|-|if|then|do|!|run:|[A-Z_]+=\S*)$`)
)

// commandLines returns the lines of a block that may be commands: not the output of others,
// and none of a drawing, whose block has no language.
func commandLines(language, block string) []string {
	lines := strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n")
	return slices.DeleteFunc(lines, func(line string) bool {
		return language == "" || language == "console" && !strings.HasPrefix(strings.TrimSpace(line), "$ ")
	})
}

// inLine returns the arguments of a program's commands in a line.
func inLine(line, program string) [][]string {
	var commands [][]string
	for _, part := range separators.Split(line, -1) {
		words := strings.Fields(part)
		for len(words) > 0 && before.MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) > 1 && words[0] == "kubectl" && words[1] == program {
			words = words[1:]
		}
		if len(words) > 0 && path.Base(words[0]) == program {
			commands = append(commands, arguments(words[1:]))
		}
	}
	return commands
}

// arguments returns the words before a redirection or a comment, without quotes and ….
func arguments(words []string) []string {
	if end := slices.IndexFunc(words, func(word string) bool { return strings.ContainsAny(word[:1], "<>#") || word == "2>&1" }); end >= 0 {
		words = words[:end]
	}
	var args []string
	for _, word := range words {
		word = strings.Trim(word, `'"`)
		if word != "…" && word != "..." {
			args = append(args, word)
		}
	}
	return args
}
