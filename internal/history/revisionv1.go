package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// documentV1 is a stored revision of format v1. Its plan and options have the names of
// Go's fields, which encoding/json matches without regard to case, gates are numbers and
// durations are nanoseconds.
type documentV1 struct {
	Cluster   string           `json:"cluster"`
	Resources []storedResource `json:"resources"`
	Options   json.RawMessage  `json:"options"`
	OrderFile string           `json:"orderFile"`
	Plan      json.RawMessage  `json:"plan"`
}

// asV2 converts the document to format v2.
func (d documentV1) asV2() (documentV2, error) {
	out := documentV2{Cluster: d.Cluster, Resources: d.Resources, OrderFile: d.OrderFile}
	return out, errors.Join(fromV1(d.Options, &out.Options), fromV1(d.Plan, &out.Plan))
}

// fromV1 decodes a part of a document of format v1 into a type of format v2.
func fromV1(text json.RawMessage, into any) error {
	if len(text) == 0 {
		return nil
	}
	var tree any
	exact := json.NewDecoder(bytes.NewReader(text))
	exact.UseNumber()
	if err := exact.Decode(&tree); err != nil {
		return err
	}
	if err := convertV1(tree); err != nil {
		return err
	}
	converted, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(converted, into)
}

// convertV1 replaces the numbers of gates and timeouts, at any depth, by the text of
// format v2.
func convertV1(tree any) error {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			number, isNumber := value.(json.Number)
			var err error
			switch {
			case key == "Gate" && isNumber:
				tree[key], err = gateOfV1(number)
			case key == "Timeout" && isNumber:
				var nanoseconds int64
				nanoseconds, err = number.Int64()
				tree[key] = time.Duration(nanoseconds).String()
			default:
				err = convertV1(value)
			}
			if err != nil {
				return err
			}
		}
	case []any:
		for _, item := range tree {
			if err := convertV1(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// gateOfV1 returns the name of a gate: 0 was ready and 1 applied.
func gateOfV1(number json.Number) (string, error) {
	switch number {
	case "0":
		return ordering.Ready.String(), nil
	case "1":
		return ordering.Applied.String(), nil
	}
	return "", fmt.Errorf("unknown gate %s in format v1", number)
}
