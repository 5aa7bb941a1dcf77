package strict

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type shop struct {
	Name     string            `json:"name" values:"a name"`
	Till     *string           `json:"till"`
	Open     bool              `json:"open"`
	Hours    []hours           `json:"hours,omitempty" for:"times" write:"hours: [{from: …}]"`
	Labels   map[string]string `json:"labels"`
	Options  map[string]any    `json:"options"`
	Metadata any               `json:"metadata"`
	Owner    owner             `json:"owner" open:"true"`
	place
}

type place struct {
	Street string `json:"street"`
}

type owner struct {
	Name string `json:"name"`
}

type hours struct {
	From clock `json:"from"`
	To   clock `json:"to"`
}

// clock is an hour, or an object with it.
type clock struct {
	Hour string `json:"hour"`
}

func (c *clock) DecodeField(value any) error {
	switch v := value.(type) {
	case map[string]any:
		return ErrByType
	case float64:
		c.Hour = fmt.Sprint(v)
		return nil
	}
	return errors.New("is " + Describe(value) + ": write an hour")
}

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	document, err := Read([]byte(text), "a Shop", "name and hours")
	require.NoError(t, err)
	return document
}

func TestDecode(t *testing.T) {
	var s shop
	faults := Decode(read(t, `
name: corner
till: ""
open: true
hours: [{from: 8, to: {hour: "20"}}]
labels: {app.kubernetes.io/name: shop}
options: {list: [a], none: null}
metadata: {anything: 1}
owner: {name: Ann, age: 50}
street: Main
`), &s)
	require.Empty(t, faults)
	require.NoError(t, faults.Err())
	empty := ""
	require.Equal(t, shop{
		Name: "corner", Till: &empty, Open: true, Hours: []hours{{clock{"8"}, clock{"20"}}},
		Labels: map[string]string{"app.kubernetes.io/name": "shop"}, Options: map[string]any{"list": []any{"a"}, "none": nil},
		Metadata: map[string]any{"anything": 1.0}, Owner: owner{"Ann"}, place: place{"Main"},
	}, s)
}

// Every fault is reported, in the order of the known fields; unknown ones come after them.
func TestFaults(t *testing.T) {
	var s shop
	faults := Decode(read(t, `
name: ""
till: null
open: "yes"
hours: [{from: early, form: 9}, plain]
labels: {app.kubernetes.io/name: 1, other: [a]}
options: 7
owner: [Ann]
steet: Main
times: []
`), &s)
	want := `name: is empty: write a name, or leave the field out
till: is null: leave the field out or give it a value
open: must be true or false, not the string "yes"
hours[0].from: is the string "early": write an hour
hours[0].form: unknown field; did you mean from?
hours[1]: must be a map, not the string "plain"
labels["app.kubernetes.io/name"]: is the number 1: write it in quotes
labels.other: must be a string, not a list
options: must be a map, not the number 7
owner: must be a map, not a list
steet: unknown field; did you mean street?
times: unknown field; did you mean hours: [{from: …}]?`
	require.EqualError(t, faults.Err(), want)
	require.True(t, faults.Under("hours[0]"))
	require.True(t, faults.Under("labels"))
	require.False(t, faults.Under("hour"))
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"- a\n":                "it is a list: a Shop is a map with name and hours",
		"# nothing\n":          "it is null: a Shop is a map with name and hours",
		"name: [\n":            "it is not valid YAML: line 1: did not find expected node content",
		"name: a\nname: b\n":   `it is not valid YAML: unmarshal errors:   line 2: key "name" already set in map`,
		"name: a\n---\nb: c\n": "it holds more than one YAML document: a Shop is one object, in a file of its own",
	} {
		_, err := Read([]byte(text), "a Shop", "name and hours")
		require.EqualError(t, err, want, text)
	}
	require.Equal(t, map[string]any{"name": "a"}, read(t, "---\n# a shop\nname: a\n---\n...\n"))
	require.Equal(t, map[string]any{"name": "a"}, read(t, `{"name": "a"}`))
}

// No document makes the decoder panic, and each of its faults has a message in one line.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: a\nhours: [{from: 1}, null, [x]]\nlabels: {a: {}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		document, err := Read(text, "a Shop", "name")
		if err != nil {
			return
		}
		for _, fault := range Decode(document, &shop{}) {
			require.NotEmpty(t, fault.Message)
			require.False(t, strings.Contains(fault.Error(), "\n"), fault.Error())
		}
	})
}
