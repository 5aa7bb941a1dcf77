package condition

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// JSONPath is a parsed JSONPath: .field, ['field'], [0], [-1], [1:3], [*], ..field and
// filters such as [?(@.name == "web")]. It is safe for concurrent use.
type JSONPath []step

// step maps a value to the selected values below it.
type step func(value any) []any

// Find returns the values at the path, in order; none if a part is missing.
func (p JSONPath) Find(value any) []any {
	values := []any{value}
	for _, s := range p {
		var next []any
		for _, v := range values {
			next = append(next, s(v)...)
		}
		values = next
	}
	return values
}

// Comparison is a condition on the values at a JSONPath, such as .succeeded == 1.
type Comparison struct {
	Path     JSONPath
	Operator string // == != < <= > >=
	Value    string // without quotes
}

// Holds compares as HIP-0025 specifies: numbers as numbers, booleans as booleans,
// everything else as strings, which have no order. Several values are joined by spaces.
// A missing field matches no condition.
func (c Comparison) Holds(object any) bool {
	found := c.Path.Find(object)
	return len(found) > 0 && matches(found, c.Operator, c.Value)
}

// ParseJSONPath parses a path without braces. The empty path is the whole object. The error
// names the part that is wrong. A path may have one .. at most, filters included: with more,
// the number of values grows with a power of an object's depth.
func ParseJSONPath(text string) (JSONPath, error) {
	if countSearches(text) > 1 {
		return nil, fmt.Errorf("path %s: it has more than one ..: name the fields between them", text)
	}
	var path JSONPath
	for rest := text; rest != ""; {
		var s step
		var err error
		switch {
		case strings.HasPrefix(rest, ".."):
			s, rest, err = deepStep(rest[2:])
		case rest[0] == '.':
			s, rest, err = fieldStep(rest[1:])
		case rest[0] == '[':
			s, rest, err = bracketStep(rest[1:])
		default:
			err = fmt.Errorf("%q: a path must begin with . or [", rest)
		}
		if err != nil {
			return nil, fmt.Errorf("path %s: %w", text, err)
		}
		path = append(path, s)
	}
	return path, nil
}

// fieldStep parses a field name up to the next . or [; a backslash escapes a
// dot.
func fieldStep(text string) (step, string, error) {
	name, rest := cutName(text)
	switch name {
	case "":
		return nil, "", fmt.Errorf("a field name is missing before %q", text)
	case "*":
		return children, rest, nil
	}
	return field(name), rest, nil
}

func cutName(text string) (name, rest string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '.' || c == '[':
			return b.String(), text[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

func field(name string) step {
	return func(value any) []any {
		m, _ := value.(map[string]any)
		if v, ok := m[name]; ok && v != nil {
			return []any{v}
		}
		return nil
	}
}

func children(value any) []any {
	switch value := value.(type) {
	case []any:
		return value
	case map[string]any:
		values := make([]any, 0, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			values = append(values, value[key])
		}
		return values
	}
	return nil
}

// deepStep parses a field to search at any depth.
func deepStep(text string) (step, string, error) {
	s, rest, err := fieldStep(text)
	if err != nil {
		return nil, "", err
	}
	var search func(found []any, value any) []any
	search = func(found []any, value any) []any {
		found = append(found, s(value)...)
		for _, child := range children(value) {
			found = search(found, child)
		}
		return found
	}
	return func(value any) []any { return search(nil, value) }, rest, nil
}

// bracketStep parses an expression in brackets; text starts after the opening
// one.
func bracketStep(text string) (step, string, error) {
	inside, rest, ok := cutBracket(text)
	if !ok {
		return nil, "", fmt.Errorf("[%s: the closing bracket is missing", text)
	}
	inside = strings.TrimSpace(inside)
	switch condition, isFilter := strings.CutPrefix(inside, "?("); {
	case isFilter && strings.HasSuffix(condition, ")"):
		s, err := filterStep(strings.TrimSuffix(condition, ")"))
		return s, rest, err
	case inside == "*":
		return children, rest, nil
	case Unquote(inside) != inside:
		return field(Unquote(inside)), rest, nil
	}
	s, err := sliceStep(inside)
	return s, rest, err
}

// cutBracket cuts at the matching closing bracket.
func cutBracket(text string) (inside, rest string, ok bool) {
	depth := 1
	end := indexOutsideQuotes(text, func(r rune) bool {
		depth += bracketDepth(r)
		return depth == 0
	})
	if end < 0 {
		return "", "", false
	}
	return text[:end], text[end+1:], true
}

// bracketDepth returns by how much a character changes the depth of nested brackets.
func bracketDepth(r rune) int {
	switch r {
	case '[':
		return 1
	case ']':
		return -1
	}
	return 0
}

// sliceStep parses an index or a range; negative numbers count from the end.
func sliceStep(inside string) (step, error) {
	from, to, isRange := strings.Cut(inside, ":")
	first, err := number(from, 0)
	if err != nil {
		return nil, fmt.Errorf("[%s]: write an index, a range, a quoted name, * or ?(…) in brackets", inside)
	}
	end, err := number(to, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("[%s]: the end of the range is not a number", inside)
	}
	return func(value any) []any {
		list, _ := value.([]any)
		i, j := fromEnd(first, len(list)), fromEnd(end, len(list))
		if !isRange {
			j = i + 1
		}
		if i, j = max(i, 0), min(j, len(list)); i >= j {
			return nil
		}
		return list[i:j]
	}, nil
}

func number(text string, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	return strconv.Atoi(strings.TrimSpace(text))
}

func fromEnd(i, length int) int {
	if i < 0 {
		return i + length
	}
	return i
}

// filterStep parses @.path, optionally compared with a value, and selects the
// matching items.
func filterStep(condition string) (step, error) {
	left, operator, right := cutComparison(condition)
	path, ok := strings.CutPrefix(strings.TrimSpace(left), "@")
	if !ok {
		return nil, fmt.Errorf("?(%s): a filter must begin with @", condition)
	}
	item, err := ParseJSONPath(path)
	if err != nil {
		return nil, err
	}
	c := Comparison{Path: item, Operator: operator, Value: Unquote(strings.TrimSpace(right))}
	return func(value any) []any {
		var kept []any
		for _, child := range children(value) {
			if operator == "" && len(item.Find(child)) > 0 || operator != "" && c.Holds(child) {
				kept = append(kept, child)
			}
		}
		return kept
	}, nil
}

// cutComparison cuts at the first operator outside quotes and brackets.
func cutComparison(text string) (left, operator, right string) {
	depth := 0
	at := indexOutsideQuotes(text, func(r rune) bool {
		depth += bracketDepth(r)
		return depth == 0 && strings.ContainsRune("=!<>", r)
	})
	if at >= 0 {
		if operator, right := CutOperator(text[at:]); operator != "" {
			return text[:at], operator, right
		}
	}
	return text, "", ""
}
