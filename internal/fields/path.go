package fields

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Path is a parsed path, such as spec.template.spec.containers[name=app].image. It has at
// least one step.
type Path []step

// step is a field, or the items of a list.
type step struct {
	field string            // "" for items
	keys  map[string]string // values of fields that the items have
	all   bool              // every item
}

// Parse parses the paths of the annotation. A path is written as the API server writes it
// in a conflict, .spec.ports[port=80,protocol="TCP"].name, with or without the first
// dot, or as a JSON pointer, /spec/replicas. [*] selects all items of a list. Errors
// name the path.
func Parse(value string) ([]Path, error) {
	var paths []Path
	var errs []error
	for _, text := range split(value) {
		path, err := parsePath(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("path %s: %w", text, err))
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil, errors.New("names no field: write paths such as spec.replicas")
	}
	return paths, errors.Join(errs...)
}

// Check returns the error in a value of the annotation.
func Check(value string) error {
	_, err := Parse(value)
	return err
}

// split splits at commas and white space outside brackets.
func split(value string) []string {
	depth := 0
	return strings.FieldsFunc(value, func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ',', ' ', '\n', '\t', '\r':
			return depth <= 0
		}
		return false
	})
}

func parsePath(text string) (Path, error) {
	read := dotted
	if strings.HasPrefix(text, "/") {
		read = pointer
	}
	path, err := read(text)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, errors.New("names no field")
	}
	if path[0].field == "stringData" {
		path[0].field = "data" // as it is sent
	}
	return path, allowed(path)
}

// allowed rejects paths of fields that identify an object, or are never sent.
func allowed(path Path) error {
	first := path[0].field
	switch {
	case first == "apiVersion" || first == "kind" || first == "":
		return errors.New("identifies the object")
	case first == "status":
		return errors.New("the status is never sent: leave it out")
	case first != "metadata":
		return nil
	case len(path) == 1 || !slices.Contains([]string{"annotations", "labels", "finalizers", "ownerReferences"}, path[1].field):
		return errors.New("of the metadata, only annotations, labels, finalizers and ownerReferences can be ignored")
	case len(path) > 2 && isOwn(path[2].field):
		return errors.New("ordapply needs it")
	}
	return nil
}

// pointer parses a JSON pointer (RFC 6901).
func pointer(text string) (Path, error) {
	var path Path
	for _, part := range strings.Split(text[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch {
		case part == "":
			return nil, errors.New("a name is empty")
		case isIndex(part) && !flat(path):
			return nil, errIndex
		}
		path = append(path, step{field: part})
	}
	return path, nil
}

var errIndex = errors.New("a list item is selected by its keys, as in containers[name=app], or [*] for all")

// isIndex reports whether a text is the index of a list item.
func isIndex(text string) bool { return regexp.MustCompile(`^\d+$`).MatchString(text) }

// flat reports whether the values at a path are texts by name, whose names may have dots.
func flat(path Path) bool {
	switch len(path) {
	case 1:
		return slices.Contains([]string{"data", "binaryData", "stringData"}, path[0].field)
	case 2:
		return path[0].field == "metadata" && (path[1].field == "annotations" || path[1].field == "labels")
	}
	return false
}

// dotted parses names and brackets, as the API server writes them.
func dotted(text string) (Path, error) {
	var path Path
	for rest := strings.TrimPrefix(text, "."); rest != ""; {
		if inside, after, ok := strings.Cut(rest, "]"); ok && rest[0] == '[' {
			s, err := bracket(strings.TrimSpace(inside[1:]))
			if err != nil {
				return nil, err
			}
			path, rest = append(path, s), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 || flat(path) {
			end = len(rest)
		}
		if end == 0 {
			return nil, fmt.Errorf("a field name is missing before %q", rest)
		}
		path = append(path, step{field: rest[:end]})
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	return path, nil
}

// bracket parses the text in brackets: *, a quoted name, or keys with their values.
func bracket(inside string) (step, error) {
	switch name := unquote(inside); {
	case inside == "*":
		return step{all: true}, nil
	case name != inside && name != "":
		return step{field: name}, nil
	case isIndex(inside):
		return step{}, errIndex
	}
	keys := map[string]string{}
	for _, pair := range strings.Split(inside, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), unquote(strings.TrimSpace(value))
		if !ok || key == "" || value == "" {
			return step{}, fmt.Errorf("[%s]: write keys with values, as in [name=app], [*] for all items, or a quoted name", inside)
		}
		keys[key] = value
	}
	return step{keys: keys}, nil
}

// unquote removes double or single quotes around a text.
func unquote(text string) string {
	if n := len(text); n >= 2 && text[0] == text[n-1] && strings.ContainsRune(`"'`, rune(text[0])) {
		return text[1 : n-1]
	}
	return text
}

// isOwn reports whether a name is an annotation or label of apply sets.
func isOwn(name string) bool {
	return strings.HasPrefix(name, "ordapply.dev/") || strings.HasPrefix(name, "applyset.kubernetes.io/")
}

// JQ returns a path as an expression in jq, as Argo CD reads ignoreDifferences:
// `.spec.containers[] | select(.name == "app") | .image`.
func (p Path) JQ() string {
	var out strings.Builder
	for _, s := range p {
		switch {
		case s.all:
			out.WriteString("[]")
		case len(s.keys) > 0:
			out.WriteString("[]")
			for _, key := range slices.Sorted(maps.Keys(s.keys)) {
				out.WriteString(" | select(.[" + strconv.Quote(key) + "] == " + strconv.Quote(s.keys[key]) + ")")
			}
			out.WriteString(" | ")
		default:
			out.WriteString(".[" + strconv.Quote(s.field) + "]")
		}
	}
	return strings.TrimSuffix(out.String(), " | ")
}
