// Package wait has the waits of a run besides the one for its own objects: kinds, endpoints,
// Pods, objects outside the stream.
//
// It reports, during a run, why Pods of workloads do not start.
//
//	watcher := wait.NewPodWatcher(&loop, cluster, wait.PodRun{IsWaiting: isWaiting, Live: live, OnProblem: report})
//	watcher.Start(step, id)       // a Deployment that is waited for
//	text := watcher.Problem(step) // "container web: ImagePullBackOff (Pod web-1)"
//
// The status of a workload that is not ready says little more than how many
// of its Pods are ready. So its Pods are watched once it has waited for a
// while, and the problems that keep them from starting are reported during
// the run. Where it has no Pods, its events are watched, which say why.
// Nothing is reported where that is forbidden.
//
// It also waits for objects outside the stream that its resources need
// ("external:" in ordapply.dev/depends-on). The run waits for them when all
// other dependencies of a resource are met, up to the timeout of the resource or its wave.
//
//	dependencies := wait.NewExternals(&loop, cluster, judge, wait.ExternalRun{OnChange: start, OnForbidden: fail})
//	o, err := dependencies.Watch(need, kind)
//	if !o.Passed(need.Gate) {
//		o.AddWaiter(step) // OnChange is called for it when the object changes
//	}
//
// It also waits until an API server serves kinds, and explains where it does not.
//
//	waiter := wait.NewKindWaiter(&loop, cluster, wait.KindRun{OnServed: send})
//	if waiter.Await(step, gvk) { // OnServed is called later
//		report(wait.Unserved(cluster, gvk, ""))
//	}
//
// A kind is usable when discovery serves it, shortly after its CRD is
// Established; before that a PATCH gets 404. So both the CRD and the custom
// resources wait for discovery.
//
// It also waits until Services have ready endpoints.
//
//	waiter := wait.NewEndpointWaiter(&loop, cluster, wait.EndpointRun{WaitsFor: waitsFor, OnReady: next, OnUnready: report})
//	waiter.Await(step, service)
//
// A webhook configuration is ready when its Services have ready endpoints.
// Each Service is read once; one without ready endpoints is watched until it
// has some. All steps that wait for a Service share the read and the watch.
//
// It also measures for how long nothing that a run waits for has moved.
//
//	clock := wait.NewClock(time.Now())
//	clock.Saw(now, "Deployment shop/web", "Replicas: 0/1") // a movement, unless it was seen before
//	if clock.For(now) >= 30*time.Second { letGo() }
//
// Repetition is no movement: a container that crashes again and again, a probe that fails each
// time, a program that writes the time of its last try.
package wait
