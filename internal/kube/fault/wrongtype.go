package fault

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The API server rejects a value of the wrong type with code 500 and the
// message of a library: "expected list, got &{map[…]}". Users get the field,
// the expected type and the value instead.

// wrongTypes lists the values of the wrong type with their paths and the
// expected types, if an error is about nothing else; "" for any other error.
func wrongTypes(err error) string {
	if IsUnfitValue(err) && isFractionError(err.Error()) {
		return "a fraction where an integer is required; the API server does not name the field"
	}
	if !IsSchemaError(err) {
		return ""
	}
	_, text, _ := strings.Cut(err.Error(), "failed to create typed patch object (")
	_, text, _ = strings.Cut(text, "): ")
	var mistakes []string
	wrong := false
	for line := range strings.Lines(strings.TrimPrefix(text, "errors:")) {
		line = strings.TrimSpace(line)
		path, what, found := strings.Cut(strings.TrimPrefix(line, "."), ": ")
		m := regexp.MustCompile(`^expected (\w+)[^,]*, got (.*)$`).FindStringSubmatch(what)
		switch {
		case line == "":
		case m != nil:
			wrong = true
			mistakes = append(mistakes, path+" must be "+wantedType(m[1])+", got "+foundType(m[1], m[2]))
		case found && what == "field not declared in schema":
			mistakes = append(mistakes, path+" is not a field of its kind")
		default:
			return ""
		}
	}
	if !wrong {
		return ""
	}
	slices.Sort(mistakes) // the API server's order differs each time
	return strings.Join(mistakes, "; ")
}

// wantedType describes the expected type, given its name in a schema.
func wantedType(name string) string {
	switch name {
	case "numeric":
		return "a number"
	case "boolean":
		return "true or false"
	case "string":
		return "a string"
	}
	return "a " + name // map, list
}

// foundType describes the actual value, given as Go prints it.
func foundType(wanted, got string) string {
	value, printed := strings.CutPrefix(got, "&value.valueUnstructured{Value:")
	if !printed {
		value, printed = strings.CutPrefix(got, "&{")
	}
	value = strings.TrimSuffix(value, "}")
	switch {
	case !printed && got == "string":
		return "a string"
	case !printed:
		return "another type"
	case strings.HasPrefix(value, "map["):
		return "a map"
	case strings.HasPrefix(value, "["):
		return "a list"
	case wanted == "string":
		return fmt.Sprintf("%s as YAML reads it: quote the value", value) // no is read as false, 0644 as 420
	}
	return `"` + value + `"`
}

// isFractionError reports whether a number has a fraction where an integer is
// required. The API server does not name its field.
func isFractionError(text string) bool {
	return regexp.MustCompile(`cannot convert float\d+ to u?int\d+$`).MatchString(text)
}
