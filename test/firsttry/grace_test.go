package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Time is grace while a resource that is assumed to be ready in the end is waited for, and
// no other resource and no hook.
func TestGrace(t *testing.T) {
	const assumed, status, hook = `"type":"resource","kind":"Issuer","name":"%[1]s"`, `"type":"resource","kind":"Deployment","name":"%[1]s"`, `"type":"hook","kind":"Job","event":"post-install","name":"%[1]s"`
	for name, c := range map[string]struct {
		log  []string
		want time.Duration
	}{
		"alone": {[]string{
			at(0, `"type":"waveStart"`), at(1, assumed, "a"), at(2, assumed, "a"), at(9, `"type":"waveEnd"`), at(17, assumed+`,"final":true,"assumed":true`, "a"), at(20, `"type":"runEnd","assumed":1`),
		}, 16 * time.Second},
		"beside a resource with a status": {[]string{
			at(0, assumed, "a"), at(2, status, "d"), at(12, status+`,"final":true`, "d"), at(15, assumed+`,"final":true,"assumed":true`, "a"),
		}, 5 * time.Second},
		"beside a hook": {[]string{
			at(0, assumed, "a"), at(2, hook, "a"), at(12, hook+`,"final":true`, "a"), at(15, assumed+`,"final":true,"assumed":true`, "a"),
		}, 5 * time.Second},
		"two of them, one after the other": {[]string{
			at(0, assumed, "a"), at(5, assumed, "b"), at(15, assumed+`,"final":true,"assumed":true`, "a"), at(20, assumed+`,"final":true,"assumed":true`, "b"),
			at(25, assumed, "c"), at(40, assumed+`,"final":true,"assumed":true`, "c"),
		}, 35 * time.Second},
		"a status that came": {[]string{
			at(0, assumed, "a"), at(15, assumed+`,"final":true`, "a"),
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := graceOf(strings.NewReader(strings.Join(c.log, "\n")))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := graceOf(strings.NewReader("{"))
	require.ErrorContains(t, err, "read the event log")
}

// at returns a line of an event log.
func at(second int, fields string, args ...any) string {
	return fmt.Sprintf(`{"version":1,"timestamp":"2026-01-01T00:00:%02dZ",%s}`, second, fmt.Sprintf(fields, args...))
}
