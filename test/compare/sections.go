package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/appliers"
)

// writeObjects prints the life of ConfigMaps of all sizes.
func writeObjects(b *strings.Builder, r Results, pictures map[string]string) {
	var parts []Part
	for _, p := range r.Parts {
		if p.Work == "objects" && p.Delay == 0 {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return
	}
	b.WriteString("## Apply, apply again, change one, delete\n\nConfigMaps of 200 bytes in a namespace. The larger the number, the fewer programs: those that take minutes are left out. " +
		"`kubectl delete` waits for one object after the other, with the five requests a second that client-go allows by default.\n\n")
	for _, phase := range parts[0].phases() {
		name := "objects-" + phase + ".svg"
		pictures[name] = growth("seconds of "+phase, "objects", parts, phase, wall)
		fmt.Fprintf(b, "![Seconds by number of objects, %s](benchmarks/%s)\n", phase, name)
	}
	pictures["objects-memory.svg"] = growth("MiB of the first apply", "objects", parts, "first", peak)
	b.WriteString("![Memory by number of objects](benchmarks/objects-memory.svg)\n\n")
	for _, p := range parts {
		fmt.Fprintf(b, "### Objects: %s\n\n", grouped(p.Size))
		b.WriteString("Seconds:\n\n")
		table(b, append([]string{""}, p.phases()...), p.rows(func(name, phase string) string { return p.cell(name, phase, wall, 1) }))
		b.WriteString("Of the client: seconds of CPU, peak memory in MiB, requests for each object:\n\n")
		figures := []struct {
			name string
			of   metric
			per  int
		}{{"CPU", cpu, 1}, {"memory", peak, 1}, {"requests", requests, p.Size}}
		head := []string{""}
		for _, f := range figures {
			for _, phase := range p.phases() {
				head = append(head, f.name+", "+phase)
			}
		}
		var rows [][]string
		for _, name := range p.names() {
			row := []string{name}
			for _, f := range figures {
				for _, phase := range p.phases() {
					row = append(row, p.median(name, phase, f.of, float64(f.per)))
				}
			}
			rows = append(rows, row)
		}
		table(b, head, rows)
	}
}

// writeFar prints how the times grow with the distance of the API server.
func writeFar(b *strings.Builder, r Results, _ map[string]string) {
	for i, p := range slices.DeleteFunc(slices.Clone(r.Parts), func(p Part) bool { return p.Work != "objects" || p.Delay == 0 }) {
		if i == 0 {
			b.WriteString("## From a distance\n\nA proxy adds a delay to each round trip to the API server.\n\n")
		}
		fmt.Fprintf(b, "%s objects, %s added, seconds:\n\n", grouped(p.Size), p.Delay.Round(time.Millisecond))
		table(b, append([]string{""}, p.phases()...), p.rows(func(name, phase string) string { return p.cell(name, phase, wall, 1) }))
	}
}

// writeSlopes prints how the costs grow from each size to the next of the same run.
func writeSlopes(b *strings.Builder, r Results, _ map[string]string) {
	var steps [][2]int
	last := map[Taken]int{}
	for _, p := range r.Parts {
		if p.Work == "objects" && p.Delay == 0 && p.Size >= 1000 {
			if from, ok := last[p.Taken]; ok {
				steps = append(steps, [2]int{from, p.Size})
			}
			last[p.Taken] = p.Size
		}
	}
	if len(steps) == 0 {
		return
	}
	head := []string{"", ""}
	for _, step := range steps {
		head = append(head, grouped(step[0])+" to "+grouped(step[1])+": time", "CPU", "memory")
	}
	var rows [][]string
	for _, name := range []string{floor, plain, set} {
		for _, phase := range []string{"first", "no-op", "change", "delete"} {
			row := []string{name, phase}
			for _, step := range steps {
				for _, of := range []metric{wall, cpu, peak} {
					cell := "–"
					if e, ok := r.slope("objects", name, phase, step[0], step[1], of); ok {
						cell = number(e.Median)
					}
					row = append(row, cell)
				}
			}
			rows = append(rows, row)
		}
	}
	b.WriteString("## Growth\n\nThe exponent by which a cost grows from one number of objects to the next that was measured at the same commit, on the same day: 1 is linear, less is better.\n\n")
	table(b, head, rows)
}

// writeGraphs prints how long graphs of Deployments take.
func writeGraphs(b *strings.Builder, r Results, _ map[string]string) {
	about := map[string]string{
		shapes()[0]: "Ten Deployments, each ready 0.5 s after its Pod is created, each after the one before it.",
		shapes()[1]: "Four diamonds in a chain: two Deployments after one, another after both.",
		shapes()[2]: "Two independent chains of four Deployments; the first of one chain takes 3 s, the last of the other too.",
	}
	heading := "## Order\n\nDeployments with the dependencies that each program reads, until all are ready: whole process, and over the critical path, the longest " +
		"chain of the Deployments' own times, each from the request that wrote it to the status that says it is ready, in the audit log. " +
		"A run fails if one was written before its dependencies were ready. Helm orders no Deployments.\n\n"
	for _, shape := range shapes() {
		for _, p := range r.Parts {
			if p.Work != shape {
				continue
			}
			fmt.Fprintf(b, "%s**%s.** %s\n\n", heading, strings.ToUpper(shape[:1])+shape[1:], about[shape])
			heading = ""
			var rows [][]string
			for _, name := range p.names() {
				rows = append(rows, []string{name, p.cell(name, "ready", wall, 1), p.cell(name, "ready", over, 1), p.cell(name, "ready", requests, float64(p.Size))})
			}
			table(b, []string{"", "seconds", "over the critical path", "requests for each object"}, rows)
		}
	}
}

// writePlan prints the cost of planning.
func writePlan(b *strings.Builder, r Results, pictures map[string]string) {
	var parts []Part
	for _, p := range r.Parts {
		if p.Work == "plan" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return
	}
	fmt.Fprintf(b, "## Planning\n\nApplications of a Deployment with a ConfigMap, a Secret, a ServiceAccount and a custom resource. "+
		"Planning is the planner alone, after the manifests were read: ordapply's, kapp's change graph and cli-utils' graph sort, "+
		"these up to %s resources. All read the `depends-on` annotations, the CRD and the Namespaces; ordapply also what Pods refer to, and layers: two edges a resource. "+
		"The command is `ordapply plan --dry-run=client`, which also reads YAML.\n\n", grouped(peersPlan))
	pictures["plan.svg"] = growth("seconds of planning", "resources", parts, "plan", wall)
	b.WriteString("![Seconds of planning by number of resources](benchmarks/plan.svg)\n\n")
	var rows [][]string
	for _, p := range parts {
		for _, name := range p.names() {
			rows = append(rows, []string{
				grouped(p.Size), name, p.cell(name, "plan", wall, 1), p.cell(name, "plan", cpu, 1),
				p.cell(name, "command", wall, 1), p.cell(name, "command", peak, 1),
			})
		}
	}
	table(b, []string{"resources", "", "planning, s", "CPU, s", "command, s", "memory of the command, MiB"}, rows)
}

// writeFunction prints the cost of the function as a filter and in kustomize builds.
func writeFunction(b *strings.Builder, r Results, _ map[string]string) {
	heading := "## The function\n\n`sortorder` with one selector, as a filter and inside `kustomize build`, next to functions that do nothing. Every second document is placed.\n\n"
	var rows [][]string
	for _, p := range r.Parts {
		for _, phase := range []string{"filter", "build"} {
			for _, name := range p.names() {
				if (p.Work == "filter" || p.Work == builtWork) && len(p.of(name, phase)) > 0 {
					rows = append(rows, []string{p.Work, grouped(p.Size), name, p.cell(name, phase, wall, 1), p.cell(name, phase, cpu, 1), p.cell(name, phase, peak, 1)})
				}
			}
		}
	}
	if len(rows) > 0 {
		b.WriteString(heading)
		table(b, []string{"", "documents", "", "seconds", "CPU, s", "memory of the largest process, MiB"}, rows)
	}
}

// writePrograms prints how long the installs of programs take.
func writePrograms(b *strings.Builder, r Results, _ map[string]string) {
	if parts := r.of("programs"); len(parts) > 0 {
		b.WriteString("## Until a program is ready\n\n[Models of programs](../test/unkind/doc.go) whose Pods wait for other objects, measured as the real streams below.\n\n")
		writeInstalls(b, parts)
	}
}

// writeStreams prints how long real streams take.
func writeStreams(b *strings.Builder, r Results, _ map[string]string) {
	parts := r.of("streams")
	if len(parts) == 0 {
		return
	}
	b.WriteString("## Until a real stream is ready\n\n" +
		"[Real streams](../test/corpora/sources.yaml), each on empty control planes of its own, with [the kinds that it expects](../test/firsttry/streams.go) and stand-ins for its operators, " +
		"until an [independent watch](../test/observer/observer.go) sees everything ready.\n\n" +
		"- By itself: `kubectl apply --server-side` of everything but fields that are null, every 0.2 s again of what was refused, and until all is ready. Only Helm's hooks before the install come first.\n" +
		"- Chain: in the run of ordapply, the longest chain of the objects' own times along the edges and layers of its plan, each from the request that wrote it to the version that was ready, or accepted where the next one needs no more. " +
		"A gate that yielded does not count, nor does the time for which it held what came after.\n" +
		"- At least: the longer of both. A dash is a chain that was longer than its run, and does not count. By itself contains the time of kubectl's tries, so ordapply can be below it.\n" +
		"- ordapply: the whole command. Grace is included: the time in which it waited only for a status that never came.\n\n")
	writeInstalls(b, parts)
}

func writeInstalls(b *strings.Builder, parts []Part) {
	var rows [][]string
	for _, p := range parts {
		row := []string{p.Name, fmt.Sprint(p.Objects)}
		for _, of := range []metric{own, chained, wall, grace, overAlone, over} {
			row = append(row, p.cell(plain, "ready", of, 1))
		}
		if slices.ContainsFunc(p.Samples, Sample.isWrong) {
			row[3] = "–"
		}
		rows = append(rows, row)
	}
	table(b, []string{"", "objects", "by itself, s", "chain, s", "ordapply, s", "grace, s", "ordapply over by itself", "ordapply over at least"}, rows)
}

// writeTries prints the table of make first-try.
func writeTries(b *strings.Builder, r Results, _ map[string]string) {
	parts := r.of("tries")
	if len(parts) == 0 {
		return
	}
	b.WriteString("## The first try\n\nReal streams, and the same models of programs, each time on an empty control plane with what the stream expects: as the stream stands, and shuffled: ordapply in as many orders as its column says, the others in as many of these as theirs. " +
		"A program succeeds if it ends with exit code 0, all objects are there, and all Pods of a model are ready; the others get three minutes, in which Pods may also become ready after the program has ended. " +
		"Helm gets a chart with the CustomResourceDefinitions in `crds/`. The loop repeats kubectl every 5 s with the stream as it stands. " +
		"[Objects that cannot be applied at all](../test/firsttry/streams.go) are left out. Grace is the time in which ordapply waited only for a status that never came. [The results](benchmarks/results.json) have the end of the output of the first failure.\n\n")
	var tried []Try
	for _, p := range parts {
		tried = append(tried, slices.DeleteFunc(slices.Clone(p.Tries), func(t Try) bool { return t.Refused })...)
	}
	rows := [][]string{always(tried)}
	for _, t := range tried {
		row := []string{t.Stream, fmt.Sprint(t.Objects), goodOf(t.Good, t.Tries)}
		for _, a := range appliers.All() {
			row = append(row, t.tool(a.Name))
		}
		rows = append(rows, append(row, strings.TrimSuffix(t.Loop, " rounds"), number(t.Grace)))
	}
	table(b, []string{"", "objects", "ordapply", "kubectl, server-side", "kapp", "kapply, server-side", "Helm", "rounds of kubectl in a loop", "longest grace, s"}, rows)
}

// always returns the row that says with how many streams and programs each program succeeded in all
// orders in which it was tried.
func always(all []Try) []string {
	good := func(name string) string {
		count, tried := 0, 0
		for _, t := range all {
			of := t.tally(name)
			if of.Tries > 0 {
				tried++
			}
			if of.Tries > 0 && of.Good == of.Tries {
				count++
			}
		}
		if tried == 0 {
			return "–"
		}
		return "**" + goodOf(count, tried) + "**"
	}
	row := []string{"**in all orders**", "", good(plain)}
	for _, a := range appliers.All() {
		row = append(row, good(a.Name))
	}
	return append(row, "", "")
}

// tally returns how often a program was tried.
func (t Try) tally(name string) Tally {
	if name == plain {
		return Tally{Tries: t.Tries, Good: t.Good}
	}
	at := slices.IndexFunc(t.Tools, func(tool Tally) bool { return tool.Name == name })
	if at < 0 {
		return Tally{}
	}
	return t.Tools[at]
}

// tool returns how often another program succeeded; a dash if it was not tried.
func (t Try) tool(name string) string {
	if tally := t.tally(name); tally.Tries > 0 {
		return goodOf(tally.Good, tally.Tries)
	}
	return "–"
}

func goodOf(good, tries int) string { return fmt.Sprintf("%d of %d", good, tries) }
