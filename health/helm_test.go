package health

import (
	"testing"
)

func FuzzHelmCondition(f *testing.F) {
	object := map[string]any{"status": map[string]any{"count": int64(3), "books": []any{map[string]any{"title": "two", "pages": int64(200)}}}}
	for _, seed := range []string{"{.count} == 3", "{.books[?(@.pages>20)].title} != two", "{..title} < 3", `{['a.b']} >= "x}"`, "{.a[1:-1]} == "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		c, err := parseHelmCondition(source)
		if err == nil {
			_ = c.Holds(object)
		}
	})
}
