package history

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/track"
)

// The times are written with the status, and repeated when the status changes again: an
// apply removes fields that it omits.
func TestTimesStayWithTheRevision(t *testing.T) {
	times := track.RunTimes{Seconds: 12.5, ByWave: []track.WaveTime{{Name: "data", Seconds: 12}, {Name: "web"}}}
	e := Entry{stored: stored{head: &unstructured.Unstructured{Object: map[string]any{}}}, RunTimes: times}
	for _, status := range []Status{Deployed, Superseded} {
		patch, err := e.statusPatch(status)
		require.NoError(t, err)
		require.Equal(t, map[string]string{timesAnnotation: `{"seconds":12.5,"waveTimes":[{"name":"data","seconds":12},{"name":"web"}]}`}, patch.GetAnnotations())
		require.Equal(t, times, readTimes(patch))
	}
	e.RunTimes = track.RunTimes{}
	patch, err := e.statusPatch(Failed)
	require.NoError(t, err)
	require.Nil(t, patch.GetAnnotations())
}

// Times that were edited, or are missing in older revisions, are unknown. A very long plan
// keeps its whole time.
func TestTimesThatAreNotStored(t *testing.T) {
	for _, text := range []string{"", "{", `{"seconds":-1}`, `{"seconds":1e300}`, `{"seconds":1,"waveTimes":[{"seconds":-2}]}`} {
		head := &unstructured.Unstructured{Object: map[string]any{}}
		head.SetAnnotations(map[string]string{timesAnnotation: text})
		require.Equal(t, track.RunTimes{}, readTimes(head), text)
	}
	text, err := timesText(track.RunTimes{Seconds: 2, ByWave: []track.WaveTime{{Name: strings.Repeat("x", maxTimes)}}})
	require.NoError(t, err)
	require.Equal(t, `{"seconds":2}`, text)
}
