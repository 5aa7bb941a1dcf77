package helmreferee

import (
	"slices"
	"strings"
)

// difference describes how ordapply differs from Helm.
type difference struct {
	why string
	// left are hook objects that it additionally deletes at the end.
	left []string
	// sequence is the whole sequence, if more differs than left.
	sequence []string
}

// differences are all intended differences, by chart and step.
var differences = map[string]difference{
	"events: uninstall": {why: leftoverNote, left: []string{
		"jobs/v1-post-delete", "jobs/v1-post-install", "jobs/v1-post-rollback", "jobs/v1-pre-delete", "jobs/v1-pre-install", "jobs/v1-pre-rollback",
		"jobs/v2-post-upgrade", "jobs/v2-pre-upgrade",
	}},
	"install-rolled-back: install rollback-on-failure fails": {
		why: leftoverNote + ": going back from a first install is an uninstall", left: []string{"jobs/after", "jobs/before", "jobs/leave", "jobs/left"},
	},
	"logs: uninstall":                {why: leftoverNote, left: []string{"jobs/b-job"}},
	"policies: uninstall":            {why: leftoverNote, left: []string{"configmaps/f", "configmaps/g", "configmaps/h", "jobs/b"}},
	"post-upgrade-fails: uninstall":  {why: leftoverNote, left: []string{"jobs/after", "jobs/back-1", "jobs/before"}},
	"template-not-ready: uninstall":  {why: leftoverNote, left: []string{"jobs/before"}},
	"test-hooks: uninstall":          {why: leftoverNote, left: []string{"jobs/both"}},
	"post-install-fails: uninstall":  {why: leftoverNote, left: []string{"jobs/after", "jobs/before", "jobs/leave"}},
	"pre-rollback-fails: uninstall":  {why: leftoverNote, left: []string{"jobs/going-back-1", "jobs/going-back-2", "jobs/is-back-2"}},
	"pre-upgrade-fails: uninstall":   {why: leftoverNote, left: []string{"jobs/b", "jobs/c", "jobs/d"}},
	"subcharts: uninstall":           {why: leftoverNote, left: []string{"jobs/a-inner", "jobs/b-outer", "jobs/c-outer", "jobs/z-inner"}},
	"uninstall: uninstall":           {why: leftoverNote, left: []string{"configmaps/a", "jobs/b", "jobs/d", "jobs/installs"}},
	"upgrade-rolled-back: uninstall": {why: leftoverNote, left: []string{"jobs/after", "jobs/going-back-1", "jobs/is-back-1"}},

	"pre-install-fails: upgrade": {
		why: "nothing was ever deployed: what follows a failed install is an install, and its hooks run; Helm runs those of an upgrade",
		sequence: []string{
			"+ jobs/a", "done jobs/a", "- configmaps/b", "+ configmaps/b", "+ jobs/c", "done jobs/c", "+ jobs/d", "done jobs/d", "- jobs/a",
			"templates + configmaps/settings", "+ configmaps/e",
		},
	},
	"pre-install-fails: uninstall": {why: leftoverNote, left: []string{"configmaps/b", "configmaps/e", "jobs/c", "jobs/d"}},

	"old-jobs: upgrade v=2": {
		why:      "a Job that finished at the install is no success of the upgrade: it is replaced, and runs",
		sequence: []string{"- jobs/once", "+ jobs/once", "done jobs/once", "templates"},
	},
	"foreign-object: install": {
		why:      "no run of the set made the object that has the hook's name: it is refused, and not deleted",
		sequence: []string{"fails"},
	},
	"template-and-hook: install": {
		why:      "one object as a template and as a hook, whose policy would delete it: refused before anything is written",
		sequence: []string{"fails"},
	},
	"uninstall-after-failed-upgrade: uninstall": {
		why:      "the hooks are those of the revision that is deployed, as the members are; Helm runs those of the revision that failed",
		sequence: []string{"+ jobs/leave-1", "done jobs/leave-1", "templates - configmaps/settings", "- jobs/before", "- jobs/leave-1"},
	},
	"converted: upgrade v=2": {
		why:      "a template that became a hook stays, for its hook was not to be deleted; Helm prunes what the hook created",
		sequence: []string{"- configmaps/turned", "+ configmaps/turned", "templates"},
	},
	"converted: uninstall": {why: leftoverNote, left: []string{"configmaps/turned", "jobs/dropped"}},
	"order: uninstall": {
		why: "a definition of the folder crds is a member as any other and goes with the set, unless it is kept (helm.sh/resource-policy: keep); " + leftoverNote,
		sequence: []string{
			"templates - configmaps/settings, - serviceaccounts/runner, - widgets/gear", "- customresourcedefinitions/widgets.order.example.com",
			"- configmaps/a-last", "- configmaps/a-post", "- configmaps/h-c", "- configmaps/k-no-number", "- configmaps/m-none", "- configmaps/same", "- configmaps/z-first",
			"- pods/h-a", "- secrets/same", "- serviceaccounts/h-d", "- serviceaccounts/same", "- jobs/h-b", "- jobs/post-b",
		},
	},
	"pre-rollback-fails: rollback 2": {
		why:      "the templates are those of revision 2 already, and what is unchanged is not sent",
		sequence: []string{"+ jobs/going-back-2", "done jobs/going-back-2", "+ jobs/is-back-2", "done jobs/is-back-2"},
	},
}

const leftoverNote = "what hooks left behind is deleted with the apply set; Helm forgets it"

// expected returns the expected result of a step, given Helm's.
func (d difference) expected(helm string, fails bool) string {
	if d.sequence != nil {
		return "  " + strings.Join(d.sequence, "\n  ") + "\n"
	}
	var out strings.Builder
	out.WriteString(helm)
	for _, object := range slices.Sorted(slices.Values(d.left)) {
		out.WriteString("  - " + object + "\n")
	}
	return outcome(out.String(), fails)
}
