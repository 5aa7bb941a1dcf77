package history

import (
	"cmp"
	"fmt"
	"strings"
)

// Origin is the user, commit and reason of a revision. Each is "" when it is unknown, as
// in revisions of older versions.
type Origin struct {
	User    string `json:"user,omitempty"`    // as the API server knows the account
	Commit  string `json:"commit,omitempty"`  // the Git commit of the manifests
	Message string `json:"message,omitempty"` // the reason for the run, for people
}

// Bounds of the texts of an Origin, in bytes. They are stored in an annotation.
const (
	maxUser    = 250
	maxCommit  = 64
	MaxMessage = 1000
)

// bounded returns the Origin with texts that are cut where they are too long.
func (o Origin) bounded() Origin {
	return Origin{bounded(o.User, maxUser), bounded(o.Commit, maxCommit), bounded(o.Message, MaxMessage)}
}

// bounded returns a text without surrounding space, cut to a number of bytes.
func bounded(text string, size int) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), size)], "")
}

// OfRollback returns the Origin with the message of a rollback to a revision; unchanged
// for 0.
func (o Origin) OfRollback(revision int) Origin {
	if revision > 0 {
		why := o.Message
		o.Message = fmt.Sprintf("rollback to revision %d", revision)
		if why != "" {
			o.Message += ": " + why
		}
	}
	return o
}

// by returns the Origin with a user, if it has none.
func (o Origin) by(user string) Origin {
	o.User = cmp.Or(o.User, user)
	return o
}
