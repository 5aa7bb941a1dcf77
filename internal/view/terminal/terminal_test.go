package terminal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/vt"
)

func TestClip(t *testing.T) {
	require.Equal(t, "short", Clip("short", 5))
	require.Equal(t, "shor…", Clip("shorter", 5))
	require.Equal(t, "世…", Clip("世界", 3))
	require.Equal(t, "世…", Clip("世界世", 4))
	require.Equal(t, "é…", Clip("éxy", 2), "a combining accent takes no column")
	require.Equal(t, "", Clip("x", 0))
	require.Equal(t, 4, Width("世界"))
}

// After any sequence of frames a terminal shows all permanent lines in order,
// followed by the last frame only, and is in its normal state.
func TestDrawnFramesLeaveNothingBehind(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		columns, rows := 10+rng.IntN(40), 4+rng.IntN(20)
		screen := vt.New(columns, rows)
		s := NewScreen(screen, seed%2 == 0)
		var want []string
		var frame []Line
		for n := range 30 {
			above := ""
			for range rng.IntN(3) {
				line := fmt.Sprintf("stays %d x%s", n, strings.Repeat("x", rng.IntN(2*columns)))
				above += line + "\n"
				for part := range slices.Chunk([]byte(line), columns) { // permanent lines are never cut
					want = append(want, strings.TrimRight(string(part), " "))
				}
			}
			frame = frame[:0]
			for range rng.IntN(rows) {
				frame = append(frame, Line{strings.Repeat("f", 1+rng.IntN(2*columns)), Mood(rng.IntN(5))})
			}
			require.NoError(t, s.Draw(above, frame, columns, rows))
			require.True(t, screen.Sane())
		}
		for _, line := range frame {
			want = append(want, Clip(line.Text, columns-1))
		}
		require.Equal(t, strings.Join(want, "\n"), screen.Text(), "seed %d", seed)
	}
}

// A frame is one Write, so that no partial frame is visible.
func TestAFrameIsOneWrite(t *testing.T) {
	w := &writes{}
	require.NoError(t, NewScreen(w, true).Draw("above\n", []Line{{"a", Bad}, {"b", Busy}}, 80, 24))
	require.Equal(t, 1, w.n)
	require.Regexp(t, "above\n.*\\x1b\\[\\?7l(?s:.*)\\x1b\\[\\?7h", w.text, "a character that is wider than we think must break no line")
}

type writes struct {
	n    int
	text string
}

func (w *writes) Write(p []byte) (int, error) {
	w.n++
	w.text += string(p)
	return len(p), nil
}

// Lines of a frame that a narrower terminal has wrapped are erased too.
func TestANarrowerTerminal(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, false)
	require.NoError(t, s.Draw("", []Line{{Text: strings.Repeat("x", 70)}, {Text: "short"}}, 80, 24))
	out.Reset()
	require.NoError(t, s.Draw("", []Line{{Text: "now"}}, 30, 24))
	require.Contains(t, out.String(), "\x1b[4A\x1b[J", "what was broken is erased, so that a wider terminal does not join it again")
	out.Reset()
	require.NoError(t, s.Draw("", []Line{{Text: "now"}}, 30, 24))
	require.Contains(t, out.String(), "\x1b[1A\x1b[?7l", "a terminal that stays as it is does not flicker")
	require.NoError(t, s.Draw("", []Line{{Text: strings.Repeat("x", 70)}, {Text: "short"}}, 80, 24))
	out.Reset()
	require.NoError(t, s.Draw("", nil, 10, 5))
	require.Contains(t, out.String(), "\x1b[4A", "what scrolled out is out of reach")
}
