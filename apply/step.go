package apply

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// step is the state of one step of the plan.
type step struct {
	*ordering.Step                            // of the plan
	manifest       *unstructured.Unstructured // as in the manifest, with the values that it takes
	kind           kube.Kind
	fillings
	outcome
	times
	existing
	attempts
	awaited
}

// outcome is the state of a step as it is reported.
type outcome struct {
	state       event.State
	reason      event.WaitReason // why it waits, or waited at the end
	detail      string           // the same for people
	err         error
	gatePassed  bool         // no wave waits for it any longer
	podsExist   bool         // it has passed the gate Started
	unchanged   bool         // nothing had to be sent
	grade       health.Grade // of the live object as last judged
	assumed     bool         // ready, though nothing in its status says so
	leftUnready bool         // not ready when the next hooks were due
}

// times are when a step reached its stages, zero before that.
type times struct {
	startedAt  time.Time // when its dependencies in the stream were met
	sentAt     time.Time // when its PATCH was first handed to a worker; zero when it got no connection
	answeredAt time.Time // when its PATCH succeeded
	doneAt     time.Time
	ownTimeout time.Duration       // the timeout of this resource or its kind; 0: none
	overdue    *event.TimeoutError // a timeout that expired while its object was being recreated
}

// existing is the known state of the live object before the PATCH.
type existing struct {
	read            request.LiveObject
	membershipError error                      // why the object that was read may not be written
	minEpoch        int                        // a read from an earlier epoch is outdated
	before          request.Identity           // the object that was read before the PATCH; zero when none was
	live            *unstructured.Unstructured // that whole object, if the PATCH depends on it
	managers        *managers                  // nil: nothing is known of them
	takesOver       bool                       // fields of others are taken over before the PATCH
	takenOver       *unstructured.Unstructured // the object that they are on, if enough of it was read
	joining         *write.Joining             // the object that only has to become a member, instead
	listedBefore    bool                       // a list before the run showed whether it existed
	origin          event.Origin               // proven by that list, and by the answer to the PATCH
}

// managers are the known field managers of a live object; most steps know none.
type managers struct {
	former    []string // of sets that it was a member of
	owners    event.FieldOwners
	ownFields []metav1.ManagedFieldsEntry // the fields that this manager applied before
}

// ofManagers returns what is known of the field managers, to be changed.
func (s *step) ofManagers() *managers {
	if s.managers == nil {
		s.managers = &managers{}
	}
	return s.managers
}

// attempts is how far the PATCH of a step is.
type attempts struct {
	phase          phase
	requestPending bool // a request is in flight or due
	patch          loop.Delivery
	loop.Attempts         // that failed
	force          bool   // its PATCH may take fields from other managers
	migrationTried bool   // migrating previous managers' fields was tried
	repairTried    bool   // repair was tried
	recreateTried  bool   // recreation was tried, and its PATCH was refused for another reason
	kept           string // why a newer definition stays as it is, for people
	recreated      bool   // the old object's deletion was accepted: that happens once
}

// phase is the current action on the object of a step that is being applied.
type phase int

const (
	patching     phase = iota // its PATCH is sent, as soon as it waits for nothing
	rereading                 // it is read again, to be compared with the manifest
	readingOld                // it is read, to see whether it is being deleted
	awaitingGone              // it is being deleted; when it is gone, it is applied again
	readingKept               // it is read, as it stays as it is
)

// isTerminating reports whether the old object is being deleted.
func (p phase) isTerminating() bool { return p == readingOld || p == awaitingGone }

// awaited is the object of a step that waits to be ready, and the reasons.
type awaited struct {
	applied      request.Identity           // the object that the PATCH returned
	judged       request.Applied            // the facts for judging readiness
	fromRead     bool                       // it is judged by a read, not by the answer to a PATCH
	lastSeen     *unstructured.Unstructured // the live object as last seen
	buffered     loop.Buffer                // a change reported while the PATCH was in flight
	unready      string                     // why it waits, by its status
	graceTimerAt time.Time                  // when it will be judged again because its status grace ends
	inGrace      bool                       // only its status grace keeps it waiting
	backends     []object.ID                // Services that must have ready endpoints before it is ready
	awaitsSchema bool                       // it is a definition whose new schema is waited for
	unlabelled   bool                       // it does not carry the set's label
}

// isHalfRecreated reports whether a step's object was deleted and is not created again yet.
// That is completed also when the run stops.
func (s *step) isHalfRecreated() bool {
	return s.recreated && s.state == event.Applying && s.answeredAt.IsZero()
}

// isAwaited reports whether changes of a step's object matter now.
func (s *step) isAwaited() bool {
	return s.state == event.Waiting || s.phase.isTerminating() && !s.state.Final()
}

// waveProgress counts the progress of one wave.
type waveProgress struct {
	members      []int // applied in this wave
	unapplied    int   // number of members still to be applied
	gatesPending int   // number of resources and hooks that must pass their gates before the next wave opens
	hooksBegun   bool  // its hooks have started, as all of its resources are applied
	// crdProgress is when a CustomResourceDefinition of the wave was last applied, established
	// or served.
	crdProgress time.Time
	took        time.Duration // 0 until it is complete
}

// add adds a resource that is applied in the wave.
func (t *waveProgress) add(i int) {
	t.members = append(t.members, i)
	t.unapplied++
}

// shift counts the transition of one resource.
func (t *waveProgress) shift(from, to event.State) {
	if isUnapplied(from) {
		t.unapplied--
	}
	if isUnapplied(to) {
		t.unapplied++
	}
}

func isUnapplied(state event.State) bool { return state == event.Pending || state == event.Applying }
