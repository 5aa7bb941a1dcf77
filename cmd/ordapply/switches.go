package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/ordering"
)

// A stream may switch its ordering, or the place of prerequisites, by an annotation on
// any of its resources, as KubeVela's KEP-0005 has it for an Application: the stream is
// what we have of one. The command line goes before the annotation, and the annotation
// before the environment and the config file, which are for many streams.

// settledBy marks the flags that the environment or the config file set.
const settledBy = "settled-by"

// isOnCommandLine reports whether a flag was given there.
func isOnCommandLine(flag *pflag.Flag) bool {
	return flag.Changed && flag.Annotations[settledBy] == nil
}

// switched is whether something is on for a stream. flag is what the verb says of it,
// nil where it says nothing; the note tells that an annotation decided.
func switched(stream *apply.Stream, key string, flag *pflag.Flag) (on bool, note string, err error) {
	on = flag == nil || flag.Value.String() == "true"
	var first *ordering.Resource
	var said bool
	for i := range stream.Resources {
		r := &stream.Resources[i]
		says, err := strconv.ParseBool(r.Annotations[key])
		switch {
		case err != nil: // there is none, or its value is a fault, which is reported
		case first == nil:
			first, said = r, says
		case says != said:
			return on, "", fmt.Errorf("%s%s: annotation %s is %t, and on %s it is %t: it is about the whole stream; write the same on all, or on one resource only",
				r.ID, at(r.Source), key, says, first.ID, said)
		}
	}
	if first == nil || said == on || flag != nil && isOnCommandLine(flag) {
		return on, "", nil
	}
	return said, fmt.Sprintf("%s: annotation %s is %t, which holds for the whole stream", first.ID, key, said), nil
}

// switches sets what annotations of a stream say of its plan, and gives notes of it.
func (f *planningFlags) switches(stream *apply.Stream, options *ordering.Options) (ordered bool, notes []string, err error) {
	first, firstNote, err := switched(stream, ordering.PrerequisitesAnnotation, f.flags.Lookup("prerequisites"))
	ordered, orderedNote, orderedErr := switched(stream, ordering.OrderingAnnotation, f.flags.Lookup("ordering"))
	options.NoPrerequisites = !first
	for _, note := range []string{orderedNote, firstNote} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return ordered, notes, errors.Join(err, orderedErr)
}
