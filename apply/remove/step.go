package remove

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// removeStep is the deletion of one resource.
type removeStep struct {
	ordering.DeletionStep
	live *unstructured.Unstructured // as last seen; nil when it did not exist
	kind kube.Kind
	owns object.ID // an object that stays, and that the garbage collector would delete with it
	outcome
	request       deletion
	loop.Attempts // that failed
}

// outcome is the state of a step as it is reported.
type outcome struct {
	state  event.State
	detail string
	err    error
	absent bool // there was nothing to delete
	sentAt time.Time
	doneAt time.Time
}

// deletion is how far the DELETE of a step is.
type deletion struct {
	delivery   loop.Delivery
	inspecting bool      // the contents are being read, before the DELETE is sent
	acceptedAt time.Time // when the API server had accepted it; zero before
}

func (d deletion) accepted() bool { return !d.acceptedAt.IsZero() }

// removeWave counts the progress of one wave.
type removeWave struct {
	members        []int
	deletesPending int // DELETE neither accepted nor given up
	unfinished     int // in no final state
}
