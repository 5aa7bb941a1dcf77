package event

// WaitReason is the reason why a resource waits, for programs that branch on it; text for
// people is the Detail next to it. Values do not change; later versions may add some.
type WaitReason string

// The reasons.
const (
	WaitNone      WaitReason = ""          // it waits for nothing, or for the answer to a request
	WaitOrder     WaitReason = "Order"     // an earlier wave, or a resource that it depends on
	WaitKind      WaitReason = "Kind"      // the API server does not serve its kind, or one that it needs
	WaitExternal  WaitReason = "External"  // an object outside the stream does not exist, or is not ready
	WaitDeletion  WaitReason = "Deletion"  // the old object is being deleted
	WaitRetry     WaitReason = "Retry"     // its request failed, and is sent again
	WaitReadiness WaitReason = "Readiness" // it is applied, and does not report ready
	WaitEndpoints WaitReason = "Endpoints" // it is applied, and a Service that it calls has no ready endpoint
)
