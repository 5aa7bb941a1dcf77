package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// leaseRecord is the Lease of a lock as package leaderelection wants it. It
// remembers what it saw last, for those who have to be told.
type leaseRecord struct {
	cluster Cluster
	id      object.ID
	holder  string
	refused chan struct{} // closed when the API server will not let us have it
	busy    chan struct{} // closed when somebody else was seen to have it
	taken   func()        // called when somebody else has what was ours

	mu   sync.Mutex
	ours bool // it was, when it was seen last
	live *unstructured.Unstructured
	seen resourcelock.LeaderElectionRecord
	err  error
}

func newLeaseRecord(cluster Cluster, id object.ID, holder string) *leaseRecord {
	return &leaseRecord{cluster: cluster, id: id, holder: holder, refused: make(chan struct{}), busy: make(chan struct{})}
}

func leaseKind() apply.Kind {
	return apply.Kind{Resource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Namespaced: true}
}

// Get implements resourcelock.Interface.
func (l *leaseRecord) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	live, err := l.cluster.Get(ctx, leaseKind(), l.id.Namespace, l.id.Name)
	if err = l.note(live, err); err != nil {
		return nil, nil, err
	}
	lease := &coordinationv1.Lease{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, lease); err != nil {
		return nil, nil, err
	}
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	raw, err := json.Marshal(*record)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = *record
	if record.HolderIdentity != "" && record.HolderIdentity != l.holder {
		if l.ours {
			l.taken()
		}
		shut(l.busy)
	}
	l.ours = record.HolderIdentity == l.holder
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *leaseRecord) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	lease, err := l.write(&unstructured.Unstructured{}, record)
	if err != nil {
		return err
	}
	live, err := l.cluster.Create(ctx, leaseKind(), lease)
	if l.isLast(err) {
		return nil
	}
	return l.wrote(record, l.note(live, err))
}

// Update implements resourcelock.Interface. It replaces what Get or the last
// write saw, and fails when somebody was faster.
func (l *leaseRecord) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	before := l.live
	l.mu.Unlock()
	if before == nil {
		return errors.New("the Lease was not read yet")
	}
	lease, err := l.write(before.DeepCopy(), record)
	if err != nil {
		return err
	}
	live, err := l.cluster.Update(ctx, leaseKind(), lease)
	return l.wrote(record, l.note(live, err))
}

// wrote remembers whose the Lease is after a write of ours.
func (l *leaseRecord) wrote(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ours = record.HolderIdentity == l.holder
	}
	return err
}

// isLast tells whether the Lease went with its Namespace while it was ours:
// nobody else can have it then.
func (l *leaseRecord) isLast(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ours && (apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || missingNamespace(err) != "")
}

func (l *leaseRecord) write(lease *unstructured.Unstructured, record resourcelock.LeaderElectionRecord) (*unstructured.Unstructured, error) {
	spec := resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, err
	}
	lease.SetAPIVersion(coordinationv1.SchemeGroupVersion.String())
	lease.SetKind("Lease")
	lease.SetNamespace(l.id.Namespace)
	lease.SetName(l.id.Name)
	lease.Object["spec"] = fields
	return lease, nil
}

// note remembers an answer. What no waiting will mend is told at once.
func (l *leaseRecord) note(live *unstructured.Unstructured, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.live, l.err = live, nil
		return nil
	}
	if notFound := apierrors.IsNotFound(err); notFound && live == nil && l.live != nil {
		l.live = nil // somebody deleted it
	}
	l.err = err
	if apierrors.IsForbidden(err) || missingNamespace(err) != "" {
		shut(l.refused)
	}
	return err
}

// shut closes a channel once; its caller holds the lock.
func shut(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// failure is why there will be no lock.
func (l *leaseRecord) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Errorf("lock %s: %w", l.id, l.err)
}

// held is why there is no lock yet.
func (l *leaseRecord) held(waited time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.HolderIdentity != "" {
		return &HeldError{Lease: l.id, Holder: l.seen.HolderIdentity, Since: l.seen.AcquireTime.Time, Seen: l.seen.RenewTime.Time, Waited: waited}
	}
	if l.err == nil {
		return fmt.Errorf("lock %s: the API server did not answer within %s", l.id, firstLook)
	}
	return fmt.Errorf("lock %s: %w", l.id, l.err)
}

// Identity implements resourcelock.Interface.
func (l *leaseRecord) Identity() string { return l.holder }

// Describe implements resourcelock.Interface.
func (l *leaseRecord) Describe() string { return l.id.String() }

// RecordEvent implements resourcelock.Interface; nobody reads such Events.
func (l *leaseRecord) RecordEvent(string) {}

// missingNamespace is the Namespace that a request did not find, "" when that
// was not its trouble.
func missingNamespace(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsNotFound(err) {
		if d := status.Status().Details; d != nil && d.Kind == "namespaces" {
			return d.Name
		}
	}
	return ""
}
