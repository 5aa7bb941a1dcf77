package helmreferee

// difference is what ordapply does instead of what Helm does.
type difference struct {
	why      string
	sequence string // all of it; "" when only something is added
	then     string // what it does after all that Helm does
}

func (d difference) instead(helm string) string {
	if d.sequence != "" {
		return d.sequence
	}
	return helm + d.then
}

// differences are all that are meant, by chart and step.
var differences = map[string]difference{}
