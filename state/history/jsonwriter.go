package history

import (
	"bytes"
	"encoding/json"
	"io"
)

// jsonObject writes a JSON object with the bytes that encoding/json writes for a struct, but
// item by item: the text of a long list is never in memory as a whole, nor in the buffers that
// encoding/json keeps. It keeps the first error, and writes nothing after it.
type jsonObject struct {
	out    io.Writer
	values *json.Encoder // to out
	comma  bool          // before the next field
	err    error
}

// writeObject writes an object with the fields that fill writes.
func writeObject(out io.Writer, fill func(*jsonObject)) error {
	o := &jsonObject{out: out, values: json.NewEncoder(withoutNewline{out})}
	o.text("{")
	fill(o)
	o.text("}")
	return o.err
}

// field writes a field.
func (o *jsonObject) field(name string, value any) {
	o.name(name)
	o.value(value)
}

// fieldIf writes a field on a condition, such as that of omitempty.
func (o *jsonObject) fieldIf(condition bool, name string, value any) {
	if condition {
		o.field(name, value)
	}
}

// object writes a field that is an object itself.
func (o *jsonObject) object(name string, fill func(*jsonObject)) {
	o.name(name)
	if o.err == nil {
		o.err = writeObject(o.out, fill)
	}
}

// writeList writes a field that is a list of the stored forms of items; null for nil.
func writeList[A, B any](o *jsonObject, name string, items []A, stored func(A) B) {
	o.name(name)
	writeItems(o, items, func(item A) { o.value(stored(item)) })
}

// writeItems writes a list of items, each with write; null for nil.
func writeItems[A any](o *jsonObject, items []A, write func(A)) {
	if items == nil {
		o.text("null")
		return
	}
	o.text("[")
	for i, item := range items {
		if i > 0 {
			o.text(",")
		}
		write(item)
	}
	o.text("]")
}

// asIs is the stored form of items that are stored as they are.
func asIs[A any](item A) A { return item }

func (o *jsonObject) name(name string) {
	if o.comma {
		o.text(",")
	}
	o.comma = true
	o.value(name)
	o.text(":")
}

func (o *jsonObject) value(value any) {
	if o.err == nil {
		o.err = o.values.Encode(value)
	}
}

func (o *jsonObject) text(text string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.out, text)
	}
}

// withoutNewline drops the newline with which json.Encoder ends a value.
type withoutNewline struct{ io.Writer }

func (w withoutNewline) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(bytes.TrimSuffix(p, []byte("\n")))
	if err == nil {
		n = len(p)
	}
	return n, err
}
