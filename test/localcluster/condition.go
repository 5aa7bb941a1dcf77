package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// A condition holds when an object exists and, if there is a path, has a value there that is not empty. It is written
// `KIND[.GROUP] [NAMESPACE/]NAME [PATH]`:
//
//	Secret vault/certs .data.tls\.crt
//	MutatingWebhookConfiguration injector .webhooks[0].clientConfig.caBundle
//	APIService v1beta1.metrics.k8s.io .status.conditions[type=Available,status=True]
type condition struct {
	target
	path []string // keys, indices, and the fields of an element as "type=Available"
}

// A target names an object.
type target struct{ kind, namespace, name string }

func parseTarget(kind, name string) target {
	namespace, own, ok := strings.Cut(name, "/")
	if !ok {
		return target{kind: kind, name: name}
	}
	return target{kind, namespace, own}
}

func parseCondition(text string) (condition, error) {
	words := strings.Fields(text)
	if len(words) != 2 && len(words) != 3 {
		return condition{}, fmt.Errorf("%q is not KIND [NAMESPACE/]NAME [.PATH]", text)
	}
	c := condition{target: parseTarget(words[0], words[1])}
	if len(words) == 3 {
		if c.path = parsePath(words[2]); len(c.path) == 0 {
			return c, fmt.Errorf("%q: a path is written .FIELD.LIST[0].FIELD", words[2])
		}
	}
	return c, nil
}

// parsePath splits .a.b[0].c; a dot after a backslash belongs to the key. Without a first dot, it is no path.
func parsePath(text string) []string {
	if !strings.HasPrefix(text, ".") {
		return nil
	}
	const dot = "\x00"
	text = strings.ReplaceAll(text[1:], `\.`, dot)
	var path []string
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		path = append(path, strings.ReplaceAll(part, dot, "."))
	}
	return path
}

// holds reports whether a condition holds now.
func (p *programs) holds(ctx context.Context, c condition) (bool, error) {
	live, err := p.get(ctx, c.target)
	if err != nil || live == nil {
		return false, err
	}
	return !isEmpty(valueAt(map[string]any(live), c.path)), nil
}

// get reads an object; nil means that it or its kind does not exist.
func (p *programs) get(ctx context.Context, t target) (object, error) {
	at, err := p.kinds.path(ctx, t)
	if err != nil || at == "" {
		return nil, err
	}
	var live object
	err = p.api.do(ctx, http.MethodGet, at, nil, &live)
	if isStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	return live, err
}

// valueAt follows a path; nil means that it leads nowhere.
func valueAt(value any, path []string) any {
	for _, key := range path {
		switch at := value.(type) {
		case map[string]any:
			value = at[key]
		case []any:
			value = elementOf(at, key)
		default:
			return nil
		}
	}
	return value
}

// elementOf returns the element with an index, or the first with these fields.
func elementOf(list []any, key string) any {
	if i, err := strconv.Atoi(key); err == nil {
		if i < 0 || i >= len(list) {
			return nil
		}
		return list[i]
	}
	for _, element := range list {
		fields, _ := element.(map[string]any)
		matches := true
		for pair := range strings.SplitSeq(key, ",") {
			name, want, _ := strings.Cut(pair, "=")
			matches = matches && fmt.Sprint(fields[name]) == want
		}
		if matches {
			return element
		}
	}
	return nil
}

// isEmpty reports whether a value counts as missing: null, "", 0, false, [] or {}.
func isEmpty(value any) bool {
	text, err := json.Marshal(value)
	if err != nil {
		return true
	}
	switch string(text) {
	case "null", `""`, "0", "false", "[]", "{}":
		return true
	}
	return false
}
