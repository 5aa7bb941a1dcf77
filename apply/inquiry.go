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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/object"
)

// inquiry is what is asked about one resource that is not ready. It reads and
// never writes, and makes no more requests than are left to it.
type inquiry struct {
	cluster  Cluster
	now      time.Time
	left     int
	asked    map[types.UID]bool // objects whose events were asked for
	known    map[object.ID]bool // Secrets whose values are hidden, or which do not exist
	values   []string           // of Secrets that the stream does not hold
	said     []string           // messages that were told
	findings []Finding
	unread   []Finding // what could not be looked at
}

// coreKind is a kind of the core group that lives in namespaces.
func coreKind(resource string) Kind {
	return Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Namespaced: true}
}

// list reads objects; false when it could not, which it notes.
func (q *inquiry) list(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, bool) {
	if query.Labels+query.Fields == "" || !q.allowed() { // all of a kind would be too many
		return nil, false
	}
	objects, err := q.cluster.List(ctx, kind, namespace, query)
	if err != nil {
		q.refused("list", kind, namespace, err)
	}
	return objects, err == nil
}

// get reads one object; nil when it is not there or could not be read, which it
// notes.
func (q *inquiry) get(ctx context.Context, kind Kind, id object.ID) (*unstructured.Unstructured, error) {
	if !q.allowed() {
		return nil, errNoRequestsLeft
	}
	live, err := q.cluster.Get(ctx, kind, id.Namespace, id.Name)
	if err != nil {
		if !missing(err) {
			q.refused("get", kind, id.Namespace, err)
		}
		return nil, err
	}
	return live, nil
}

var errNoRequestsLeft = errors.New("no requests are left")

// allowed takes one of the requests that are left.
func (q *inquiry) allowed() bool {
	q.left--
	return q.left >= 0
}

// refused notes what could not be read, and what would let it be read.
func (q *inquiry) refused(verb string, kind Kind, namespace string, err error) {
	where := kind.Resource.Resource + ` in namespace "` + namespace + `"`
	if apierrors.IsForbidden(err) {
		q.forbidden(verb + " " + where)
		return
	}
	if noAnswer(err) || errors.Is(err, context.Canceled) {
		q.unanswered(inWords(err).Error())
		return
	}
	q.missed(where + " cannot be read: " + brief(err).Error())
}

// unanswered notes that the API server cannot be asked, and asks no more.
func (q *inquiry) unanswered(why string) {
	q.left = 0
	q.missed("the cause could not be asked for, as the API server does not answer: " + why)
}

// forbidden notes a permission that lacks.
func (q *inquiry) forbidden(what string) {
	q.missed("not looked further: may not " + what + "; a Role that allows it would tell more")
}

func (q *inquiry) missed(text string) {
	finding := Finding{Text: text}
	if !slices.ContainsFunc(q.unread, func(f Finding) bool { return f.Text == text }) {
		q.unread = append(q.unread, finding)
	}
}

// find notes what was found, with the message if that says something new.
func (q *inquiry) find(about object.ID, text, message string) {
	if message = oneLine(message); message != "" && !q.isSaid(message) {
		text += ": " + message
	}
	q.findings = append(q.findings, Finding{About: about, Text: text})
}

// isSaid tells whether a message was told before, and notes it. Names in quotes
// do not count: controllers generate them anew each time.
func (q *inquiry) isSaid(message string) bool {
	bare := quoted().ReplaceAllString(message, "")
	for _, told := range q.said {
		if strings.Contains(told, bare) || len(told) > 20 && strings.Contains(bare, told) {
			return true
		}
	}
	q.said = append(q.said, bare)
	return false
}

func quoted() *regexp.Regexp { return regexp.MustCompile(`"[^"]*"`) }
