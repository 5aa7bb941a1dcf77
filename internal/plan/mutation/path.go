package mutation

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/spyzhov/ajson"
)

// match is one value that a path selects.
type match struct {
	place []any // its keys and indices, from the root; nil where it is computed
	value any
}

// parse checks a path. More than one .. could select more values than an object has.
func parse(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("it is missing")
	}
	commands, err := ajson.ParseJSONPath(path)
	switch {
	case err != nil:
		return nil, errors.New("it is no JSONPath")
	case len(commands) == 0 || commands[0] != "$":
		return nil, errors.New("it must begin with $")
	case strings.Count(path, "..") > 1:
		return nil, errors.New("it has more than one ..: name the fields between them")
	}
	return commands, nil
}

// isPlain reports whether a command of a path names one field or item, without looking at
// values.
func isPlain(command string) bool {
	name, quoted := unquoted(command)
	if strings.ContainsAny(name, `'"\`) {
		return false
	}
	return quoted || command != ".." && !strings.ContainsAny(command, "*?()@[],:")
}

func unquoted(command string) (name string, quoted bool) {
	if n := len(command); n >= 2 && (command[0] == '\'' || command[0] == '"') && command[n-1] == command[0] {
		return command[1 : n-1], true
	}
	return command, false
}

// everywhere returns the places that a path may select in any object: a filter may select
// any field, and so may a path that cannot be read.
func everywhere(path string) Place {
	commands, _ := parse(path)
	var place Place
	for _, command := range commands {
		switch name, _ := unquoted(command); {
		case command == "$" || command == "@":
		case command == "..":
			if len(place) == 0 || place[len(place)-1] != any(below{}) {
				place = append(place, below{})
			}
		case isPlain(command):
			place = append(place, name)
		default:
			place = append(place, each{})
		}
	}
	if len(place) == 0 || len(place) == 1 && place[0] == any(below{}) {
		return Place{each{}}
	}
	return place
}

// find returns the fields of an object that a path selects.
func find(fields map[string]any, path string) ([]match, error) {
	commands, err := parse(path)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	root, err := ajson.Unmarshal(text)
	if err != nil {
		return nil, err
	}
	nodes, err := ajson.ApplyJSONPath(root, commands)
	if err != nil {
		return nil, errors.New("it cannot be evaluated: " + err.Error())
	}
	found := make([]match, len(nodes))
	for i, node := range nodes {
		if found[i], err = matchOf(root, node, fields); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// matchOf returns the match of a node. Its value is the object's own, since the library
// knows no integers.
func matchOf(root, node *ajson.Node, fields map[string]any) (match, error) {
	top, place := node, []any{}
	for ; top.Parent() != nil; top = top.Parent() {
		if top.Parent().IsArray() {
			place = append(place, top.Index())
		} else {
			place = append(place, top.Key())
		}
	}
	if top == root {
		slices.Reverse(place)
		return match{place, get(fields, place)}, nil
	}
	value, err := node.Unpack() // such as the length of a list
	if number, is := value.(float64); is && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		value = int64(number)
	}
	return match{nil, value}, err
}

func get(value any, place []any) any {
	for _, at := range place {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[at.(string)]
		case []any:
			value = inner[at.(int)]
		}
	}
	return value
}

// put replaces the value at a place that exists.
func put(fields map[string]any, place []any, value any) {
	last := len(place) - 1
	switch at := get(fields, place[:last]).(type) {
	case map[string]any:
		at[place[last].(string)] = value
	case []any:
		at[place[last].(int)] = value
	}
}
