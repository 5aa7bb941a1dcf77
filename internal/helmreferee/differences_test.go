package helmreferee

// difference is what ordapply does instead of what Helm does.
type difference struct {
	why      string
	sequence string
	fails    bool
}

// differences are all that are meant, by chart and step.
var differences = map[string]difference{}
