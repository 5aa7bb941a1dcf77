package diagnose

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Limits of the diagnosis of a run. Its requests are in addition to the run's.
const (
	MaxDiagnosed  = 8                // resources at most, in plan order
	MaxConcurrent = 4                // resources at a time
	MaxRequests   = 9                // at most, for one resource
	Timeout       = 10 * time.Second // for one resource, and for all of them when the run's time is over
)

// Diagnoser collects findings about one resource that is not ready. It only
// reads, and makes no more requests than it has left.
type Diagnoser struct {
	Cluster      kube.Cluster
	Now          time.Time
	RequestsLeft int
	EventsRead   map[types.UID]bool // objects whose events were read
	KnownSecrets map[object.ID]bool // Secrets whose values are hidden, or which do not exist
	SecretValues []string           // of Secrets that are not in the stream
	reported     []string           // messages that were reported
	of           object.ID          // the resource
	findings     []finding
	unread       []event.Finding // failed reads
}

// finding is a finding with its text without times, which pass, and how much it explains.
type finding struct {
	event.Finding
	lasting  string
	explains int
}

// How much a finding explains. What another object says is closer to the cause than the
// conditions of the resource, which sum it up.
const (
	explainsNothing  = iota // in progress
	explainsLittle          // about the resource, without a message
	explainsSome            // about the resource, with a message
	explainsPart            // about another object
	explainsEvent           // an event of another object
	explainsTheCause        // what keeps a Pod from starting
)

// list lists objects; false when that failed, which it records.
func (q *Diagnoser) list(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, bool) {
	if query.Labels+query.Fields == "" || !q.takeRequest() { // listing all objects of a kind would be too much
		return nil, false
	}
	objects, err := q.Cluster.List(ctx, kind, namespace, query)
	if err != nil {
		q.recordReadError("list", kind, namespace, err)
	}
	return objects, err == nil
}

// get reads one object and records why it could not be read, unless it does
// not exist.
func (q *Diagnoser) get(ctx context.Context, kind kube.Kind, id object.ID) (*unstructured.Unstructured, error) {
	if !q.takeRequest() {
		return nil, errNoRequestsLeft
	}
	live, err := q.Cluster.Get(ctx, kind, id.Namespace, id.Name)
	if err != nil {
		if !fault.IsMissing(err) {
			q.recordReadError("get", kind, id.Namespace, err)
		}
		return nil, err
	}
	return live, nil
}

var errNoRequestsLeft = errors.New("no requests are left")

// takeRequest takes one of the remaining requests.
func (q *Diagnoser) takeRequest() bool {
	q.RequestsLeft--
	return q.RequestsLeft >= 0
}

// recordReadError records a failed read, and the permission that would allow it.
func (q *Diagnoser) recordReadError(verb string, kind kube.Kind, namespace string, err error) {
	where := kind.Resource.Resource + ` in namespace "` + namespace + `"`
	if apierrors.IsForbidden(err) {
		q.recordForbidden(verb + " " + where)
		return
	}
	if fault.IsUnanswered(err) || errors.Is(err, context.Canceled) {
		q.recordUnanswered(fault.TimeoutInWords(err).Error())
		return
	}
	q.RecordUnread(where + " cannot be read: " + fault.WithoutURL(err).Error())
}

// recordUnanswered records that the API server does not answer, and stops further
// requests.
func (q *Diagnoser) recordUnanswered(why string) {
	q.RequestsLeft = 0
	q.RecordUnread("the cause could not be determined, because the API server does not answer: " + why)
}

// recordForbidden records a missing permission.
func (q *Diagnoser) recordForbidden(what string) {
	q.RecordUnread("diagnosis incomplete: may not " + what + "; allow it with a Role to see more")
}

// RecordUnread records that something could not be read, once for each text.
func (q *Diagnoser) RecordUnread(text string) {
	finding := event.Finding{Text: text}
	if !slices.ContainsFunc(q.unread, func(f event.Finding) bool { return f.Text == text }) {
		q.unread = append(q.unread, finding)
	}
}

// addFinding records a finding.
func (q *Diagnoser) addFinding(about object.ID, text string) { q.addDated(about, text, text, "") }

// addDated records a finding whose text has times, with the message if it is new; lasting is the
// text without them.
func (q *Diagnoser) addDated(about object.ID, text, lasting, message string) *finding {
	f := finding{Finding: event.Finding{About: about, Text: text}, lasting: lasting, explains: explainsLittle}
	if message = plain.OneLine(message); message != "" && !q.isReported(message) {
		f.Text, f.lasting, f.explains = text+": "+message, lasting+": "+message, explainsSome
	}
	if about != q.of {
		f.explains = explainsPart
	}
	q.findings = append(q.findings, f)
	return &q.findings[len(q.findings)-1]
}

// diagnosis returns the findings, the one that explains most first.
func (q *Diagnoser) diagnosis() event.Diagnosis {
	out := event.Diagnosis{Of: q.of}
	most := 0
	for i, f := range q.findings {
		out.Findings = append(out.Findings, f.Finding)
		if f.explains > q.findings[most].explains {
			most = i
		}
	}
	if len(out.Findings) > 0 {
		out.Cause = out.Text(event.Finding{About: q.findings[most].About, Text: q.findings[most].lasting})
		cause := out.Findings[most]
		out.Findings = slices.Insert(slices.Delete(out.Findings, most, most+1), 0, cause)
	}
	out.Findings = append(out.Findings, q.unread...)
	return out
}

// isReported reports whether a message was reported before, and records it.
// Quoted names are ignored: controllers generate new ones each time.
func (q *Diagnoser) isReported(message string) bool {
	bare := Quoted().ReplaceAllString(message, "")
	for _, known := range q.reported {
		if strings.Contains(known, bare) || len(known) > 20 && strings.Contains(bare, known) {
			return true
		}
	}
	q.reported = append(q.reported, bare)
	return false
}

// Quoted matches a quoted text, such as a name that a controller generated.
func Quoted() *regexp.Regexp { return regexp.MustCompile(`"[^"]*"`) }
