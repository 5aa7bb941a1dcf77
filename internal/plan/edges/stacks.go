package edges

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
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
	// DependsOn names applications of the same stack, those of another one as
	// "stack/application", and whole stacks. A name that is both is the application.
	DependsOn []string
	Timeout   time.Duration // how long all of it may take to become ready; 0 if not set
	// External are resources of the application that are not in the stream.
	// Dependents of the application wait for them in the cluster.
	External []object.ID
}

// appTitle returns an application's name with its stack.
func appTitle(stack Stack, a App) string { return stack.Name + "/" + a.Name }

// placeByStack adds the sets of stacks and applications and puts resources into
// them. framed means that frames order the resources within applications. CRDs
// and Namespaces still come first.
func (d *Declarations) placeByStack(framed bool) {
	if len(d.Options.Stacks) == 0 {
		return
	}
	apps := d.addStacks()
	members := d.resourcesOfApps()
	frames := map[OrderSource]bool{}
	for _, stack := range d.Options.Stacks {
		for _, app := range stack.Applications {
			title := appTitle(stack, app)
			s := d.scopeOf(title, apps[title], members[title])
			d.addAppExternals(s, app)
			if frame := d.placeInApp(s, framed); len(s.resources) > 0 {
				frames[frame] = true
			}
		}
	}
	if framed && d.OrderSource == OrderSourceNone && len(frames) == 1 {
		for frame := range frames {
			d.OrderSource = frame
		}
	}
}

// addStacks adds the sets of stacks and applications. It returns those of
// applications, by "stack/application".
func (d *Declarations) addStacks() map[string]int {
	stacks, apps := namedSets{what: "stack", sets: map[string]int{}}, namedSets{what: "application", sets: map[string]int{}}
	for _, stack := range d.Options.Stacks {
		around := d.AddSet(Set{Name: "stack " + stack.Name, Short: stack.Name, Kind: StackLayer, Within: -1, Timeout: stack.Timeout})
		stacks.add(stack.Name, around)
		for _, app := range stack.Applications {
			title := appTitle(stack, app)
			apps.add(title, d.AddSet(Set{Name: title, Short: title, Kind: Application, Within: around, Timeout: app.Timeout}))
		}
	}
	for _, stack := range d.Options.Stacks {
		for _, need := range stack.DependsOn {
			d.afterNamed(stacks, stack.Name, stacks, need)
		}
		for _, app := range stack.Applications {
			for _, need := range app.DependsOn {
				d.appAfter(stacks, apps, stack, app, need)
			}
		}
	}
	return apps.sets
}

// namedSets are the sets of stacks, or those of applications.
type namedSets struct {
	what  string         // "stack"
	sets  map[string]int // by name
	names []string       // in the order of the file
}

func (n *namedSets) add(name string, set int) {
	n.sets[name] = set
	n.names = append(n.names, name)
}

// appAfter makes the set of an application wait for the application or stack that its
// dependsOn names.
func (d *Declarations) appAfter(stacks, apps namedSets, stack Stack, app App, need string) {
	title, sibling := appTitle(stack, app), stack.Name+"/"+need
	_, isSibling := apps.sets[sibling]
	_, isStack := stacks.sets[need]
	switch {
	case strings.Contains(need, "/"):
		d.afterNamed(apps, title, apps, need)
	case isSibling:
		d.afterNamed(apps, title, apps, sibling)
	case need == stack.Name:
		d.Errs = append(d.Errs, fmt.Errorf("application %s: dependsOn names its own stack, which waits for the application: name other applications of the stack", title))
	case isStack:
		d.afterNamed(apps, title, stacks, need)
	default:
		known := slices.Clone(stacks.names)
		for _, other := range stack.Applications {
			known = append(known, other.Name)
		}
		d.Errs = append(d.Errs, fmt.Errorf("application %s: dependsOn: there is no application %s, and no stack %s%s", title, sibling, need, nearest.DidYouMean(need, known)))
	}
}

// afterNamed makes a set, the one of name among from, wait for the one of need among to.
func (d *Declarations) afterNamed(from namedSets, name string, to namedSets, need string) {
	on, ok := to.sets[need]
	switch waits := from.sets[name]; {
	case !ok:
		d.Errs = append(d.Errs, fmt.Errorf("%s %s: dependsOn: there is no %s %s%s", from.what, name, to.what, need, nearest.DidYouMean(need, to.names)))
	case on == waits:
		d.Errs = append(d.Errs, fmt.Errorf("%s %s depends on itself: remove it from dependsOn", from.what, name))
	default:
		why := graph.Reason{Rule: graph.Rule(to.what), Detail: "dependsOn of " + from.what + " " + name + " names " + need}
		d.Sets[waits].After = append(d.Sets[waits].After, Barrier{on, why})
	}
}

// resourcesOfApps returns the resources of each application, and those that are
// not part of the plan. CRDs and Namespaces belong to none, since they come
// first.
func (d *Declarations) resourcesOfApps() map[string][]int {
	members := map[string][]int{}
	for i, r := range slices.Concat(d.Resources, d.ExcludedResources) {
		if app := d.appOf(r); app != "" {
			members[app] = append(members[app], i)
		}
	}
	return members
}

// appOf returns the application of a resource, or "".
func (d *Declarations) appOf(r references.Resource) string {
	if !d.Options.NoPrerequisites && isPrerequisite(d.Options, r) {
		return ""
	}
	return d.Options.ApplicationOf(r.Meta)
}

// outsideStacks returns the scope of resources that no application selects. A
// CRD that an application selects is in no scope: its wave would order
// applications.
func (d *Declarations) outsideStacks() scope {
	var outside []int
	for i, r := range slices.Concat(d.Resources, d.ExcludedResources) {
		if d.Options.ApplicationOf(r.Meta) == "" {
			outside = append(outside, i)
		}
	}
	return d.scopeOf("", -1, outside)
}

// placeInApp puts the resources of an application into its set, or into the
// sets of its frame.
func (d *Declarations) placeInApp(s scope, framed bool) OrderSource {
	for _, i := range s.resources {
		d.Placements[i] = Placed
		if d.LayerOf[i] < 0 {
			d.LayerOf[i] = s.parentSet
		}
	}
	frame := OrderSourceNone
	if framed {
		frame = d.placeByOrderSource(s)
	}
	for _, i := range s.all() { // frames have placed them more precisely, Helm's only those of the plan
		if frame != OrderSourceArgoCD && (frame != OrderSourceHelm || !d.isPlanned(i)) {
			d.put(i, s.parentSet)
		}
	}
	return frame
}

// addAppExternals records the external resources of an application.
func (d *Declarations) addAppExternals(s scope, app App) {
	for _, id := range app.External {
		if i, ok := d.ByID[id]; ok {
			d.Errs = append(d.Errs, fmt.Errorf("application %s: external lists %s, which is in the stream: select it instead, or remove it from the stream", s.application, d.Resources[i].Located()))
			continue
		}
		d.addSetExternal(s.parentSet, id, graph.Reason{Rule: graph.RuleExternal, Detail: "application " + s.application + " lists it as external"})
	}
}
