package plain

import (
	"fmt"
	"strconv"
	"strings"
)

// Field returns the path of a field of the object at a path, "" for the top: spec.replicas.
// A name that is not a plain word is quoted: metadata.labels["app.kubernetes.io/name"].
func Field(path, name string) string {
	switch {
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isWord(r) && r != '-' }):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// Item returns the path of an item of the list at a path: rules[3].
func Item(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// ItemKeys names an item of a list by the values of its keys: name=web, or
// port=80,protocol=TCP.
func ItemKeys(keys []string, valueOf func(key string) any) string {
	parts := make([]string, len(keys))
	for i, key := range keys {
		value := fmt.Sprint(valueOf(key))
		if value == "" || strings.ContainsFunc(value, func(r rune) bool { return !isWord(r) && !strings.ContainsRune("./:*-", r) }) {
			value = strconv.Quote(value)
		}
		parts[i] = key + "=" + value
	}
	return strings.Join(parts, ",")
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
