package auditlog

import (
	"encoding/json"
	"strings"
	"time"
)

// Request is a request with a response.
type Request struct {
	Key
	Verb, Subresource string
	User, UserAgent   string
	DryRun            bool
	Arrived, Answered time.Time
	Code              int             // of the response
	Object            json.RawMessage // the response, if the log's policy includes it
}

// Requests reads a log from an offset, such as the file's earlier size, and
// returns all requests in order of their responses.
func Requests(path string, from int64) ([]Request, error) {
	type event struct {
		record
		User           struct{ Username string }
		RequestURI     string
		ResponseObject json.RawMessage
	}
	var requests []Request
	err := eachEvent(path, from, func(r event) {
		if r.Stage == "ResponseComplete" {
			requests = append(requests, Request{
				Key: r.key(), Verb: r.Verb, Subresource: r.ObjectRef.Subresource,
				User: r.User.Username, UserAgent: r.UserAgent, DryRun: strings.Contains(r.RequestURI, "dryRun="),
				Arrived: r.RequestReceivedTimestamp, Answered: r.StageTimestamp,
				Code: r.ResponseStatus.Code, Object: r.ResponseObject,
			})
		}
	})
	return requests, err
}
