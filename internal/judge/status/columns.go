package status

import (
	"fmt"
	"strings"
)

// Column is a printer column that shows the state of an object, such as READY, with the
// values that its path selects.
type Column struct {
	Name, Path string
	Values     []any
}

// columns reads the printer columns that show the state of an object. Such a column
// describes the whole object, whatever its name and path.
func (r *Signals) columns(columns []Column) {
	for _, c := range columns {
		if len(c.Values) == 0 && strings.EqualFold(c.Name, "ready") {
			r.add(Signal{Means: MeaningInProgress, weight: weightMedium, Text: fmt.Sprintf("column %s (%s) is still empty", c.Name, c.Path)})
		}
		if len(c.Values) == 1 {
			r.column(c.Name, c.Values[0])
		}
	}
}

// column reads the value of a column. A good value weighs as much as condition
// Ready.
func (r *Signals) column(name string, value any) {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case bool:
		text = fmt.Sprint(value)
	}
	s := Signal{Means: r.phrase(text), weight: weightHigh, Text: fmt.Sprintf("column %s is %s", name, text)}
	s.Degraded = lastWord(text) == "degraded"
	switch {
	case text == "":
		return
	case isUndone(text):
		s.Means = MeaningTrouble
	case s.Means == MeaningGood:
		s.weight = weightMedium
	case s.Means == MeaningNone && r.desired[strings.ToLower(text)]:
		s.Means, s.weight = MeaningGood, weightMedium
	case s.Means == MeaningNone && !isParticiple(lastWord(text)) && isName(text):
		s = Signal{Means: MeaningInProgress, weight: weightMedium, Text: s.Text, Hint: ", which may or may not mean ready"}
	}
	r.add(s)
}
