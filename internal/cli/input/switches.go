package input

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/operation/option"
	"github.com/ordapply/ordapply/ordering"
)

// An annotation on any resource may switch ordering or prerequisites for the
// whole stream, like KubeVela's KEP-0005 for an Application. The command line
// takes precedence over the annotation, and the annotation over the environment
// and the config file, which apply to many streams.

// featureEnabled reports whether a feature is on for a stream. note is set if an annotation
// decided.
func featureEnabled(stream *apply.Stream, key string, option option.Switch) (on bool, note string, err error) {
	on = !option.Off
	var first *ordering.Resource
	var value bool
	all := slices.Concat(stream.Resources, stream.Excluded, stream.Hooks)
	for i := range all {
		r := &all[i]
		enabled, err := strconv.ParseBool(r.Annotations[key])
		switch {
		case err != nil: // absent, or an invalid value, which is reported elsewhere
		case first == nil:
			first, value = r, enabled
		case enabled != value:
			return on, "", fmt.Errorf("%s%s: annotation %s is %t, but on %s it is %t: it applies to the whole stream; set the same value on all, or set it on one resource only",
				r.ID, at(r.Source), key, enabled, first.ID, value)
		}
	}
	if first == nil || value == on || option.Given {
		return on, "", nil
	}
	return value, fmt.Sprintf("%s: annotation %s is %t, which applies to the whole stream", first.ID, key, value), nil
}

// switches applies the annotations of a stream to the options, and returns
// notes.
func (s *Source) switches(stream *apply.Stream, options *ordering.Options) (ordered bool, notes []string, err error) {
	first, firstNote, err := featureEnabled(stream, ordering.PrerequisitesAnnotation, s.Prerequisites)
	ordered, orderedNote, orderedErr := featureEnabled(stream, ordering.OrderingAnnotation, s.Ordering)
	options.NoPrerequisites = !first
	for _, note := range []string{orderedNote, firstNote} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if s.RequireOrder && !ordered && orderedErr == nil {
		orderedErr = fmt.Errorf("%s; --require-order refuses a stream without an order: remove the annotation, or leave out the flag", orderedNote)
	}
	return ordered, notes, errors.Join(err, orderedErr)
}
