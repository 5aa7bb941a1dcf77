package ordering

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/object"
)

// Stack is a set of applications that is waited for as one (RFC-DEPLOY-0001).
type Stack struct {
	Name         string
	DependsOn    []string // names of stacks
	Timeout      time.Duration
	Applications []App
	// Atomic says that a stack which does not become ready as a whole is changed
	// back as a whole.
	Atomic bool
}

// App is an application: a set of resources of a stack. What orders resources by
// itself, such as Argo CD's waves and Helm's groups, does so within each
// application.
type App struct {
	Name string
	// DependsOn names applications of the same stack, or of others as
	// "stack/application".
	DependsOn []string
	Timeout   time.Duration
	// External are the resources of an application that the stream does not hold.
	// Whatever depends on it waits for them in the cluster.
	External []object.ID
}

// title is the application's name among those of all stacks.
func (a App) title(stack Stack) string { return stack.Name + "/" + a.Name }

// placeByStack makes sets of stacks and applications, and puts resources into
// them; framed says that frames order each application. CRDs and Namespaces go
// first all the same.
func (d *declarations) placeByStack(framed bool) {
	if len(d.options.Stacks) == 0 {
		return
	}
	apps := d.addStacks()
	members, leftOut := d.resourcesOfApps()
	frames := map[Frame]bool{}
	for _, stack := range d.options.Stacks {
		for _, app := range stack.Applications {
			title := app.title(stack)
			s := scope{application: title, around: apps[title], resources: members[title], elsewhere: leftOut[title]}
			d.holdExternal(s, app)
			if frame := d.placeInApp(s, framed); len(s.resources) > 0 {
				frames[frame] = true
			}
		}
	}
	if framed && d.frame == FrameNone && len(frames) == 1 {
		for frame := range frames {
			d.frame = frame
		}
	}
}

// addStacks makes the sets of stacks and of their applications, and gives the
// latter by "stack/application".
func (d *declarations) addStacks() map[string]int {
	stacks, apps := map[string]int{}, map[string]int{}
	var names, appNames []string
	for _, stack := range d.options.Stacks {
		stacks[stack.Name] = d.addSet(set{name: "stack " + stack.Name, short: stack.Name, kind: StackLayer, within: -1, timeout: stack.Timeout})
		names = append(names, stack.Name)
		for _, app := range stack.Applications {
			title := app.title(stack)
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
			d.afterNamed(apps[app.title(stack)], "application", app.title(stack), needs, apps, appNames)
		}
	}
	return apps
}

func (d *declarations) afterNamed(waits int, what, name string, needs []string, sets map[string]int, known []string) {
	for _, need := range needs {
		on, ok := sets[need]
		if !ok {
			d.errs = append(d.errs, fmt.Errorf("%s %s: dependsOn: there is no %s %s%s", what, name, what, need, DidYouMean(need, known)))
			continue
		}
		if on == waits {
			d.errs = append(d.errs, fmt.Errorf("%s %s: dependsOn names itself: remove it", what, name))
			continue
		}
		why := Reason{Rule: what, Detail: "dependsOn of " + what + " " + name + " names " + need}
		d.sets[waits].after = append(d.sets[waits].after, Barrier{on, why})
	}
}

// resourcesOfApps are the resources of each application, and those of them that are
// no part of the plan. CRDs and Namespaces are in none: they go first.
func (d *declarations) resourcesOfApps() (members map[string][]int, leftOut map[string][]Resource) {
	members, leftOut = map[string][]int{}, map[string][]Resource{}
	for i, r := range d.resources {
		if app := d.appOf(r); app != "" {
			members[app] = append(members[app], i)
		}
	}
	for _, r := range d.leftOut {
		if app := d.appOf(r); app != "" {
			leftOut[app] = append(leftOut[app], r)
		}
	}
	return members, leftOut
}

// appOf is the application that holds a resource; "" for none.
func (d *declarations) appOf(r Resource) string {
	if !d.options.NoPrerequisites && d.isPrerequisite(r) {
		return ""
	}
	return d.options.ApplicationOf(r.Meta)
}

// outsideStacks is the part of the stream that no application selects. A CRD that
// one selects is in no scope: its wave would order applications.
func (d *declarations) outsideStacks() scope {
	s := scope{around: -1}
	for i, r := range d.resources {
		if d.options.ApplicationOf(r.Meta) == "" {
			s.resources = append(s.resources, i)
		}
	}
	for _, r := range d.leftOut {
		if d.options.ApplicationOf(r.Meta) == "" {
			s.elsewhere = append(s.elsewhere, r)
		}
	}
	return s
}

// placeInApp puts the resources of an application into its set, by a frame where
// one rules it.
func (d *declarations) placeInApp(s scope, framed bool) Frame {
	for _, i := range s.resources {
		d.standing[i] = placed
		if d.layerOf[i] < 0 {
			d.layerOf[i] = s.around
		}
	}
	frame := FrameNone
	if framed {
		frame = d.placeByFrame(s)
	}
	if frame != FrameHelm && frame != FrameArgoCD {
		for _, i := range s.resources {
			d.join(i, s.around, hard, hard)
		}
	}
	if frame != FrameArgoCD { // which knows where in the application they belong
		for _, r := range s.elsewhere {
			d.holdOutside(s.around, r.ID, leftOut(d.sets[s.around]))
		}
	}
	return frame
}

// holdExternal notes what an application names that something else puts into the
// cluster.
func (d *declarations) holdExternal(s scope, app App) {
	for _, id := range app.External {
		if i, ok := d.byID[id]; ok {
			d.errs = append(d.errs, fmt.Errorf("application %s: external names %s, which the stream holds: select it instead, or take it out of the stream", s.application, located(d.resources[i])))
			continue
		}
		d.holdOutside(s.around, id, Reason{Rule: RuleExternal, Detail: "application " + s.application + " names it as external"})
	}
}

// idle are the applications that select nothing, as the options report them: among
// all resources of the stream, those included that a selection leaves out.
func (o Options) idle(resources []Resource) error {
	if o.IdleApplications == nil {
		return nil
	}
	var metas []object.Meta
	for _, r := range slices.Concat(resources, o.Elsewhere) {
		metas = append(metas, r.Meta)
	}
	return errors.Join(o.IdleApplications(metas)...)
}
