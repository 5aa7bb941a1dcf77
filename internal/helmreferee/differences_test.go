package helmreferee

import (
	"slices"
	"strings"
)

// difference is what ordapply does instead of what Helm does.
type difference struct {
	why string
	// left are the hooks' objects that it deletes beside, at the end.
	left []string
	// sequence is all that it does, where more differs than what is left.
	sequence []string
}

// differences are all that are meant, by chart and step.
var differences = map[string]difference{
	"events: uninstall": {why: cleansUp, left: []string{
		"jobs/v1-post-delete", "jobs/v1-post-install", "jobs/v1-post-rollback", "jobs/v1-pre-delete", "jobs/v1-pre-install", "jobs/v1-pre-rollback",
		"jobs/v2-post-upgrade", "jobs/v2-pre-upgrade",
	}},
	"post-install-fails: uninstall":  {why: cleansUp, left: []string{"jobs/after", "jobs/before", "jobs/leave"}},
	"pre-rollback-fails: uninstall":  {why: cleansUp, left: []string{"jobs/going-back-1", "jobs/going-back-2", "jobs/is-back-2"}},
	"pre-upgrade-fails: uninstall":   {why: cleansUp, left: []string{"jobs/b", "jobs/c", "jobs/d"}},
	"subcharts: uninstall":           {why: cleansUp, left: []string{"jobs/a-inner", "jobs/b-outer", "jobs/c-outer", "jobs/z-inner"}},
	"uninstall: uninstall":           {why: cleansUp, left: []string{"configmaps/a", "jobs/b", "jobs/d", "jobs/installs"}},
	"upgrade-rolled-back: uninstall": {why: cleansUp, left: []string{"jobs/after", "jobs/going-back-1", "jobs/is-back-1"}},

	"pre-install-fails: upgrade": {
		why: "nothing was ever deployed: what follows a failed install is an install, and its hooks run; Helm runs those of an upgrade",
		sequence: []string{
			"+ jobs/a", "done jobs/a", "- configmaps/b", "+ configmaps/b", "+ jobs/c", "done jobs/c", "+ jobs/d", "done jobs/d", "- jobs/a",
			"templates + configmaps/settings", "+ configmaps/e",
		},
	},
	"pre-install-fails: uninstall": {why: cleansUp, left: []string{"configmaps/b", "configmaps/e", "jobs/c", "jobs/d"}},

	"pre-rollback-fails: rollback 2": {
		why:      "the templates are those of revision 2 already, and what is unchanged is not sent",
		sequence: []string{"+ jobs/going-back-2", "done jobs/going-back-2", "+ jobs/is-back-2", "done jobs/is-back-2"},
	},
}

const cleansUp = "what hooks left behind is deleted with the apply set; Helm forgets it"

// instead is the outcome of a step, given Helm's.
func (d difference) instead(helm string) string {
	if d.sequence != nil {
		return "  " + strings.Join(d.sequence, "\n  ") + "\n"
	}
	var out strings.Builder
	out.WriteString(helm)
	for _, object := range slices.Sorted(slices.Values(d.left)) {
		out.WriteString("  - " + object + "\n")
	}
	return out.String()
}
