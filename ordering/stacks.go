package ordering

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/object"
)

// Stack is a set of applications that others wait for as a whole
// (RFC-DEPLOY-0001).
type Stack struct {
	Name         string
	DependsOn    []string      // names of stacks, which must be ready first
	Timeout      time.Duration // how long all of it may take to become ready; 0 if not set
	Applications []App
	// Atomic means that a stack that does not become ready is rolled back as a
	// whole.
	Atomic bool
}

// App is an application: a set of resources of a stack. Frames such as Argo
// CD's waves and Helm's groups order resources within each application.
type App struct {
	Name string
	// DependsOn names applications of the same stack, or of another one as
	// "stack/application".
	DependsOn []string
	Timeout   time.Duration // how long all of it may take to become ready; 0 if not set
	// External are resources of the application that are not in the stream.
	// Dependents of the application wait for them in the cluster.
	External []object.ID
}

// title returns the application's name with its stack.
func (a App) title(stack Stack) string { return stack.Name + "/" + a.Name }

// placeByStack adds the sets of stacks and applications and puts resources into
// them. framed means that frames order the resources within applications. CRDs
// and Namespaces still come first.
func (d *declarations) placeByStack(framed bool) {
	if len(d.options.Stacks) == 0 {
		return
	}
	apps := d.addStacks()
	members, leftOut := d.resourcesOfApps()
	frames := map[OrderSource]bool{}
	for _, stack := range d.options.Stacks {
		for _, app := range stack.Applications {
			title := app.title(stack)
			s := scope{application: title, parentSet: apps[title], resources: members[title], excluded: leftOut[title]}
			d.addAppExternals(s, app)
			if frame := d.placeInApp(s, framed); len(s.resources) > 0 {
				frames[frame] = true
			}
		}
	}
	if framed && d.orderSource == OrderSourceNone && len(frames) == 1 {
		for frame := range frames {
			d.orderSource = frame
		}
	}
}

// addStacks adds the sets of stacks and applications. It returns those of
// applications, by "stack/application".
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
			d.errs = append(d.errs, fmt.Errorf("%s %s: dependsOn: there is no %s %s%s", what, name, what, need, nearest.DidYouMean(need, known)))
			continue
		}
		if on == waits {
			d.errs = append(d.errs, fmt.Errorf("%s %s depends on itself: remove it from dependsOn", what, name))
			continue
		}
		why := graph.Reason{Rule: graph.Rule(what), Detail: "dependsOn of " + what + " " + name + " names " + need}
		d.sets[waits].after = append(d.sets[waits].after, Barrier{on, why})
	}
}

// resourcesOfApps returns the resources of each application, and those that are
// not part of the plan. CRDs and Namespaces belong to none, since they come
// first.
func (d *declarations) resourcesOfApps() (members map[string][]int, leftOut map[string][]references.Resource) {
	members, leftOut = map[string][]int{}, map[string][]references.Resource{}
	for i, r := range d.Resources {
		if app := d.appOf(r); app != "" {
			members[app] = append(members[app], i)
		}
	}
	for _, r := range d.excludedResources {
		if app := d.appOf(r); app != "" {
			leftOut[app] = append(leftOut[app], r)
		}
	}
	return members, leftOut
}

// appOf returns the application of a resource, or "".
func (d *declarations) appOf(r references.Resource) string {
	if !d.options.NoPrerequisites && d.isPrerequisite(r) {
		return ""
	}
	return d.options.ApplicationOf(r.Meta)
}

// outsideStacks returns the scope of resources that no application selects. A
// CRD that an application selects is in no scope: its wave would order
// applications.
func (d *declarations) outsideStacks() scope {
	s := scope{parentSet: -1}
	for i, r := range d.Resources {
		if d.options.ApplicationOf(r.Meta) == "" {
			s.resources = append(s.resources, i)
		}
	}
	for _, r := range d.excludedResources {
		if d.options.ApplicationOf(r.Meta) == "" {
			s.excluded = append(s.excluded, r)
		}
	}
	return s
}

// placeInApp puts the resources of an application into its set, or into the
// sets of its frame.
func (d *declarations) placeInApp(s scope, framed bool) OrderSource {
	for _, i := range s.resources {
		d.placements[i] = placed
		if d.layerOf[i] < 0 {
			d.layerOf[i] = s.parentSet
		}
	}
	frame := OrderSourceNone
	if framed {
		frame = d.placeByOrderSource(s)
	}
	if frame != OrderSourceHelm && frame != OrderSourceArgoCD {
		for _, i := range s.resources {
			d.join(i, s.parentSet, graph.Hard, graph.Hard)
		}
	}
	if frame != OrderSourceArgoCD { // which has placed them more precisely
		for _, r := range s.excluded {
			d.addSetExternal(s.parentSet, r.ID, excludedReason(d.sets[s.parentSet]))
		}
	}
	return frame
}

// addAppExternals records the external resources of an application.
func (d *declarations) addAppExternals(s scope, app App) {
	for _, id := range app.External {
		if i, ok := d.ByID[id]; ok {
			d.errs = append(d.errs, fmt.Errorf("application %s: external lists %s, which is in the stream: select it instead, or remove it from the stream", s.application, d.Resources[i].Located()))
			continue
		}
		d.addSetExternal(s.parentSet, id, graph.Reason{Rule: graph.RuleExternal, Detail: "application " + s.application + " lists it as external"})
	}
}

// idle returns an error for each application that selects nothing among all
// resources of the stream, including those that a selection leaves out.
func (o Options) idle(resources []references.Resource) error {
	if o.IdleApplications == nil {
		return nil
	}
	var metas []object.Meta
	for _, r := range slices.Concat(resources, o.Excluded) {
		metas = append(metas, r.Meta)
	}
	return errors.Join(o.IdleApplications(metas)...)
}
