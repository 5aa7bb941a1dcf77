package edges

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/ordering"
)

// appTitle returns an application's name with its stack.
func appTitle(stack ordering.Stack, a ordering.App) string { return stack.Name + "/" + a.Name }

// placeByStack adds the sets of stacks and applications and puts resources into
// them. framed means that frames order the resources within applications. CRDs
// and Namespaces still come first.
func (d *Declarations) placeByStack(framed bool) {
	if len(d.Options.Stacks) == 0 {
		return
	}
	apps := d.addStacks()
	members := d.resourcesOfApps()
	frames := map[ordering.OrderSource]bool{}
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
	if framed && d.OrderSource == ordering.OrderSourceNone && len(frames) == 1 {
		for frame := range frames {
			d.OrderSource = frame
		}
	}
}

// addStacks adds the sets of stacks and applications. It returns the
// applications', by "stack/application".
func (d *Declarations) addStacks() map[string]int {
	stacks, apps := namedSets{what: "stack", sets: map[string]int{}}, namedSets{what: "application", sets: map[string]int{}}
	for _, stack := range d.Options.Stacks {
		around := d.AddSet(Set{Name: "stack " + stack.Name, Short: stack.Name, Kind: ordering.StackLayer, Within: -1, Timeout: stack.Timeout})
		stacks.add(stack.Name, around)
		for _, app := range stack.Applications {
			title := appTitle(stack, app)
			apps.add(title, d.AddSet(Set{Name: title, Short: title, Kind: ordering.Application, Within: around, Timeout: app.Timeout}))
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

// namedSets are the sets of stacks, or of applications.
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
func (d *Declarations) appAfter(stacks, apps namedSets, stack ordering.Stack, app ordering.App, need string) {
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
		why := ordering.Reason{Rule: ordering.Rule(to.what), Detail: "dependsOn of " + from.what + " " + name + " names " + need}
		d.Sets[waits].After = append(d.Sets[waits].After, ordering.Barrier{Layer: on, Why: why})
	}
}

// resourcesOfApps returns the resources of each application, planned or
// excluded. CRDs and Namespaces belong to none, since they come first.
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
func (d *Declarations) appOf(r ordering.Resource) string {
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
func (d *Declarations) placeInApp(s scope, framed bool) ordering.OrderSource {
	for _, i := range s.resources {
		d.Placements[i] = Placed
		if d.LayerOf[i] < 0 {
			d.LayerOf[i] = s.parentSet
		}
	}
	frame := ordering.OrderSourceNone
	if framed {
		frame = d.placeByOrderSource(s, d.framesOf(s))
	}
	for _, i := range s.all() { // frames have placed them more precisely, Helm's only planned ones
		if frame != ordering.OrderSourceArgoCD && (frame != ordering.OrderSourceHelm || !d.isPlanned(i)) {
			d.put(i, s.parentSet)
		}
	}
	return frame
}

// addAppExternals records the external resources of an application.
func (d *Declarations) addAppExternals(s scope, app ordering.App) {
	for _, id := range app.External {
		if i, ok := d.ByID[id]; ok {
			d.Errs = append(d.Errs, fmt.Errorf("application %s: external lists %s, which is in the stream: select it instead, or remove it from the stream", s.application, d.Resources[i].Located()))
			continue
		}
		d.addSetExternal(s.parentSet, id, ordering.Reason{Rule: ordering.RuleExternal, Detail: "application " + s.application + " lists it as external"})
	}
}
