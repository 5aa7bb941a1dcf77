package apply

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

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// diagnoser collects findings about one resource that is not ready. It only
// reads, and makes no more requests than it has left.
type diagnoser struct {
	cluster      kube.Cluster
	now          time.Time
	requestsLeft int
	eventsRead   map[types.UID]bool // objects whose events were read
	knownSecrets map[object.ID]bool // Secrets whose values are hidden, or which do not exist
	secretValues []string           // of Secrets that are not in the stream
	reported     []string           // messages that were reported
	findings     []Finding
	unread       []Finding // what could not be read
}

// list lists objects; false when that failed, which it records.
func (q *diagnoser) list(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, bool) {
	if query.Labels+query.Fields == "" || !q.takeRequest() { // listing all objects of a kind would be too much
		return nil, false
	}
	objects, err := q.cluster.List(ctx, kind, namespace, query)
	if err != nil {
		q.recordReadError("list", kind, namespace, err)
	}
	return objects, err == nil
}

// get reads one object and records why it could not be read, unless it does
// not exist.
func (q *diagnoser) get(ctx context.Context, kind kube.Kind, id object.ID) (*unstructured.Unstructured, error) {
	if !q.takeRequest() {
		return nil, errNoRequestsLeft
	}
	live, err := q.cluster.Get(ctx, kind, id.Namespace, id.Name)
	if err != nil {
		if !kubeerr.IsMissing(err) {
			q.recordReadError("get", kind, id.Namespace, err)
		}
		return nil, err
	}
	return live, nil
}

var errNoRequestsLeft = errors.New("no requests are left")

// takeRequest takes one of the remaining requests.
func (q *diagnoser) takeRequest() bool {
	q.requestsLeft--
	return q.requestsLeft >= 0
}

// recordReadError records what could not be read, and what would allow it.
func (q *diagnoser) recordReadError(verb string, kind kube.Kind, namespace string, err error) {
	where := kind.Resource.Resource + ` in namespace "` + namespace + `"`
	if apierrors.IsForbidden(err) {
		q.recordForbidden(verb + " " + where)
		return
	}
	if kubeerr.IsUnanswered(err) || errors.Is(err, context.Canceled) {
		q.recordUnanswered(kubeerr.TimeoutInWords(err).Error())
		return
	}
	q.recordUnread(where + " cannot be read: " + kubeerr.WithoutURL(err).Error())
}

// recordUnanswered records that the API server does not answer, and stops further
// requests.
func (q *diagnoser) recordUnanswered(why string) {
	q.requestsLeft = 0
	q.recordUnread("the cause could not be determined, because the API server does not answer: " + why)
}

// recordForbidden records a missing permission.
func (q *diagnoser) recordForbidden(what string) {
	q.recordUnread("diagnosis incomplete: may not " + what + "; allow it with a Role to see more")
}

func (q *diagnoser) recordUnread(text string) {
	finding := Finding{Text: text}
	if !slices.ContainsFunc(q.unread, func(f Finding) bool { return f.Text == text }) {
		q.unread = append(q.unread, finding)
	}
}

// addFinding records a finding, with the message if it is new.
func (q *diagnoser) addFinding(about object.ID, text, message string) {
	if message = oneLine(message); message != "" && !q.isReported(message) {
		text += ": " + message
	}
	q.findings = append(q.findings, Finding{About: about, Text: text})
}

// isReported reports whether a message was reported before, and records it.
// Quoted names are ignored: controllers generate new ones each time.
func (q *diagnoser) isReported(message string) bool {
	bare := quoted().ReplaceAllString(message, "")
	for _, told := range q.reported {
		if strings.Contains(told, bare) || len(told) > 20 && strings.Contains(bare, told) {
			return true
		}
	}
	q.reported = append(q.reported, bare)
	return false
}

func quoted() *regexp.Regexp { return regexp.MustCompile(`"[^"]*"`) }
