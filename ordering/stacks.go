package ordering

import (
	"fmt"
	"strings"
	"time"
)

// Stack is a set of applications that is waited for as one (RFC-DEPLOY-0001).
type Stack struct {
	Name         string
	DependsOn    []string // names of stacks
	Timeout      time.Duration
	Applications []App
}

// App is an application: a set of resources of a stack.
type App struct {
	Name string
	// DependsOn names applications of the same stack, or of others as
	// "stack/application".
	DependsOn []string
	Timeout   time.Duration
}

// placeByStack makes sets of stacks and applications, and puts resources into
// them. CRDs and Namespaces go first all the same.
func (d *declarations) placeByStack() {
	if len(d.options.Stacks) == 0 {
		return
	}
	stacks, apps := map[string]int{}, map[string]int{}
	var names, appNames []string
	for _, stack := range d.options.Stacks {
		stacks[stack.Name] = d.addSet(set{name: "stack " + stack.Name, short: stack.Name, kind: StackLayer, within: -1, timeout: stack.Timeout})
		names = append(names, stack.Name)
		for _, app := range stack.Applications {
			title := stack.Name + "/" + app.Name
			apps[title] = d.addSet(set{name: title, short: title, kind: Application, within: stacks[stack.Name], timeout: app.Timeout})
			appNames = append(appNames, title)
		}
	}
	for _, stack := range d.options.Stacks {
		d.afterNamed(stacks[stack.Name], "stack", stack.Name, stack.DependsOn, stacks, names)
		for _, app := range stack.Applications {
			needs := make([]string, len(app.DependsOn))
			for i, need := range app.DependsOn {
				if needs[i] = need; !strings.Contains(need, "/") {
					needs[i] = stack.Name + "/" + need
				}
			}
			d.afterNamed(apps[stack.Name+"/"+app.Name], "application", stack.Name+"/"+app.Name, needs, apps, appNames)
		}
	}
	for i, r := range d.resources {
		app, ok := apps[d.options.ApplicationOf(r.Meta)]
		if !ok || !d.options.NoPrerequisites && d.isPrerequisite(r) {
			continue
		}
		d.standing[i] = placed
		if d.layerOf[i] < 0 {
			d.layerOf[i] = app
		}
		d.join(i, app, hard, hard)
	}
}

func (d *declarations) afterNamed(waits int, what, name string, needs []string, sets map[string]int, known []string) {
	for _, need := range needs {
		on, ok := sets[need]
		if !ok {
			d.errs = append(d.errs, fmt.Errorf("%s %s: dependsOn: there is no %s %s%s", what, name, what, need, DidYouMean(need, known)))
			continue
		}
		why := Reason{Rule: what, Detail: "dependsOn of " + what + " " + name + " names " + need}
		d.sets[waits].after = append(d.sets[waits].after, Barrier{on, why})
	}
}
