package condition_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/test/smallmemory"
)

// doubled returns an expression for a value that contains itself twice, n times over.
func doubled(value, twice string, n int) string {
	for range n {
		value = "[" + value + "].map(a, " + twice + ")[0]"
	}
	return value
}

// No condition takes much memory or time, by any expression on any object.
func TestConditionsAreBounded(t *testing.T) {
	if !smallmemory.Within(t, 2048) {
		return
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{
		"s": strings.Repeat("a", 200), "l": strings.Repeat("a", 1<<20), "m": strings.Repeat("a", 5<<20), "n": int64(1 << 40),
	}}}
	for name, c := range map[string]struct{ source, want string }{
		"replaced texts":                {`[1, 2, 3].map(a, [self.data.s].map(b, b.replace('a', self.data.s).replace('a', self.data.s).replace('a', self.data.s))).size() > 0`, "replace reads, compares or returns more than 4 MiB"},
		"replaced nothing":              {`self.data.l.replace('', self.data.l) == ""`, "replace reads"},
		"joined texts":                  {`lists.range(10000).map(a, self.data.l).join().size() > 0`, "join reads"},
		"a long separator":              {`lists.range(10000).map(a, "").join(self.data.l).size() > 0`, "join reads"},
		"a long list":                   {`lists.range(self.data.n).size() > 0`, "lists.range reads"},
		"a precise format":              {`"%.999999999f".format([1.5]).size() > 0`, "format reads"},
		"a format of many texts":        {`"` + strings.Repeat("%s", 100) + `".format(lists.range(100).map(a, self.data.l)).size() > 0`, "format reads"},
		"a format of a value in itself": {`"%s".format([` + doubled("self.data.s", "[a, a]", 40) + `]).size() > 0`, "format reads"},
		"a flattened list in itself":    {doubled("[1]", "[a, a]", 40) + `.flatten(40).size() > 0`, "flatten reads"},
		"a list of doubled lists":       {doubled("[1]", "a + a", 40) + `.sort().size() > 0`, "takes longer than 1s"},
		"a list of different values":    {`lists.range(5000).distinct().size() > 0`, "distinct reads"},
		"doubled texts":                 {doubled("self.data.s", "a + a", 40) + `.size() > 0`, "computes more than the limit"},
		"many long texts":               {`lists.range(10000).map(a, self.data.l.upperAscii()).size() > 0`, "computes more than the limit"},
		"many converted texts":          {`lists.range(10000).map(a, bytes(self.data.l)).size() > 0`, "computes more than the limit"},
		"a text over the limit":         {`self.data.m.upperAscii() == ""`, "upperAscii reads"},
		"nested loops":                  {`lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))`, "computes more than the limit"},
		"equal doubled values":          {`[` + doubled("self.data.s", "[a, a]", 40) + `].all(a, [a] == [` + doubled("self.data.s", "[a, a]", 40) + `])`, "takes longer than 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			condition, err := condition.Compile(c.source)
			require.NoError(t, err)
			started := time.Now()
			_, _, err = condition.Holds(obj)
			require.Error(t, err)
			if !strings.Contains(err.Error(), "takes longer than 1s") { // as on a busy machine
				require.ErrorContains(t, err, c.want)
			}
			require.Less(t, time.Since(started), 20*time.Second)
		})
	}
}

// The functions of the libraries work as they do without bounds.
func TestFunctionsOfConditions(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"s": "a,b,a", "l": []any{"b", "a", "b"}, "n": []any{int64(2), int64(1)}, "deep": []any{[]any{"a"}, []any{[]any{"b"}}},
		"o": []any{map[string]any{"n": int64(2)}, map[string]any{"n": int64(1)}}}}
	for _, source := range []string{
		`self.s.replace("a", "xx") == "xx,b,xx"`, `self.s.replace("a", "x", 1) == "x,b,a"`, `self.s.split(",") == ["a", "b", "a"]`, `self.s.split(",", 2).size() == 2`,
		`self.s.charAt(0) == "a"`, `self.s.indexOf("b") == 2`, `self.s.indexOf("a", 1) == 4`, `self.s.lastIndexOf("a") == 4`, `self.s.upperAscii().lowerAscii() == self.s`,
		`self.s.substring(2) == "b,a"`, `self.s.substring(2, 3) == "b"`, `" x ".trim() == "x"`, `"ab".reverse() == "ba"`, `strings.quote("a\"") == "\"a\\\"\""`,
		`"%s is %d, %.2f".format([self.s, 3, 1.5]) == "a,b,a is 3, 1.50"`, `self.l.join() == "bab"`, `self.l.join("-") == "b-a-b"`,
		`self.l.sort() == ["a", "b", "b"]`, `self.n.sort() == [1, 2]`, `self.l.distinct() == ["b", "a"]`, `self.l.reverse() == ["b", "a", "b"]`, `self.l.slice(1, 2) == ["a"]`,
		`self.deep.flatten() == ["a", ["b"]]`, `self.deep.flatten(2) == ["a", "b"]`, `lists.range(3) == [0, 1, 2]`, `self.o.sortBy(o, o.n)[0].n == 1`,
		`self.?none.orValue(1) == 1`, `self.l.exists(x, x == "a")`,
	} {
		condition, err := condition.Compile(source)
		require.NoError(t, err, source)
		holds, missing, err := condition.Holds(obj)
		require.NoError(t, err, source)
		require.Empty(t, missing, source)
		require.True(t, holds, source)
	}
}
