package apply

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A value of the wrong type is refused with code 500, in the words of the
// libraries that read it: "expected list, got &{map[…]}". People are told which
// field, what it must be and what it is.

// wrongTypes says of each value of the wrong type where it stands and what is
// wanted, as far as an error tells of nothing else; "" when it does, or is about
// something else.
func wrongTypes(err error) string {
	if unfitValue(err) && fraction(err.Error()) {
		return "a number with a fraction stands where a whole one is wanted; the API server does not say where"
	}
	if !unknownField(err) {
		return ""
	}
	_, text, _ := strings.Cut(err.Error(), "failed to create typed patch object (")
	_, text, _ = strings.Cut(text, "): ")
	var faults []string
	wrong := false
	for line := range strings.Lines(strings.TrimPrefix(text, "errors:")) {
		line = strings.TrimSpace(line)
		path, what, found := strings.Cut(strings.TrimPrefix(line, "."), ": ")
		m := regexp.MustCompile(`^expected (\w+)[^,]*, got (.*)$`).FindStringSubmatch(what)
		switch {
		case line == "":
		case m != nil:
			wrong = true
			faults = append(faults, path+" must be "+wantedType(m[1])+", and is "+foundType(m[1], m[2]))
		case found && what == "field not declared in schema":
			faults = append(faults, path+" is no field of its kind")
		default:
			return ""
		}
	}
	if !wrong {
		return ""
	}
	slices.Sort(faults) // the API server's order differs each time
	return strings.Join(faults, "; ")
}

// wantedType is what a schema calls a type, in words.
func wantedType(name string) string {
	switch name {
	case "numeric":
		return "a number"
	case "boolean":
		return "true or false"
	case "string":
		return "a text"
	}
	return "a " + name // map, list
}

// foundType is what stands there, from how Go prints it.
func foundType(wanted, got string) string {
	value, printed := strings.CutPrefix(got, "&value.valueUnstructured{Value:")
	if !printed {
		value, printed = strings.CutPrefix(got, "&{")
	}
	value = strings.TrimSuffix(value, "}")
	switch {
	case !printed && got == "string":
		return "a text"
	case !printed:
		return "of another type"
	case strings.HasPrefix(value, "map["):
		return "a map"
	case strings.HasPrefix(value, "["):
		return "a list"
	case wanted == "string":
		return fmt.Sprintf("%s as YAML reads it: put what is written there in quotes", value) // no for false, 0644 for 420
	}
	return quote(value)
}

// fraction recognises a number that is not whole where one must be, of which the
// API server does not say where it stands.
func fraction(text string) bool {
	return regexp.MustCompile(`cannot convert float\d+ to u?int\d+$`).MatchString(text)
}
