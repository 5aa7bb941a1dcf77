package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// jsonPath is a parsed JSONPath with kubectl's syntax: .field, ['field'], [0],
// [-1],
type jsonPath []step

// step maps a value to the selected values below it.
type step func(value any) []any

// find returns the values at the path, in order; none if a part is missing.
func (p jsonPath) find(value any) []any {
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

func parseJSONPath(text string) (jsonPath, error) {
	var path jsonPath
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
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		values := make([]any, 0, len(keys))
		for _, key := range keys {
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
	var search step
	search = func(value any) []any {
		found := s(value)
		for _, child := range children(value) {
			found = append(found, search(child)...)
		}
		return found
	}
	return search, rest, nil
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
	case unquote(inside) != inside:
		return field(unquote(inside)), rest, nil
	}
	s, err := sliceStep(inside)
	return s, rest, err
}

// cutBracket cuts at the matching closing bracket.
func cutBracket(text string) (inside, rest string, ok bool) {
	depth, quote := 1, rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '[':
			depth++
		case r == ']':
			if depth--; depth == 0 {
				return text[:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

// sliceStep parses an index or a range; negative numbers count from the end.
func sliceStep(inside string) (step, error) {
	from, to, isRange := strings.Cut(inside, ":")
	first, err := number(from, 0)
	if err != nil {
		return nil, fmt.Errorf("[%s]: write an index, a range, a quoted name, * or ?(…) in brackets", inside)
	}
	if !isRange {
		return func(value any) []any {
			list, _ := value.([]any)
			if i := fromEnd(first, len(list)); i >= 0 && i < len(list) {
				return list[i : i+1]
			}
			return nil
		}, nil
	}
	end, err := number(to, int(^uint(0)>>1))
	if err != nil {
		return nil, fmt.Errorf("[%s]: the end of the range is not a number", inside)
	}
	return func(value any) []any {
		list, _ := value.([]any)
		i, j := max(fromEnd(first, len(list)), 0), min(fromEnd(end, len(list)), len(list))
		if i >= j {
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
	left, operator, right := cutOperator(condition)
	path, ok := strings.CutPrefix(strings.TrimSpace(left), "@")
	if !ok {
		return nil, fmt.Errorf("?(%s): a filter must begin with @", condition)
	}
	item, err := parseJSONPath(path)
	if err != nil {
		return nil, err
	}
	c := helmCondition{path: item, operator: operator, value: unquote(strings.TrimSpace(right))}
	return func(value any) []any {
		var kept []any
		for _, child := range children(value) {
			if operator == "" && len(item.find(child)) > 0 || operator != "" && c.holds(child) {
				kept = append(kept, child)
			}
		}
		return kept
	}, nil
}

// cutOperator cuts at the first comparison outside quotes and brackets.
func cutOperator(text string) (left, operator, right string) {
	quote, depth := rune(0), 0
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0 && strings.ContainsRune("=!<>", r):
			for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
				if right, ok := strings.CutPrefix(text[i:], operator); ok {
					return text[:i], operator, right
				}
			}
		}
	}
	return text, "", ""
}
