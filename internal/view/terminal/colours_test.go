package terminal

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every colour of the 256 is legible on black and on white.
func TestColoursHaveContrast(t *testing.T) {
	light := func(index int) float64 { // relative luminance, as WCAG defines it
		require.True(t, 16 <= index && index < 232, "only the cube has the same colours everywhere")
		sum := 0.0
		for n, weight := range []float64{0.2126, 0.7152, 0.0722} {
			level := float64([]int{0, 95, 135, 175, 215, 255}[(index-16)/[]int{36, 6, 1}[n]%6]) / 255
			if level <= 0.04045 {
				level /= 12.92
			} else {
				level = math.Pow((level+0.055)/1.055, 2.4)
			}
			sum += weight * level
		}
		return sum
	}
	for mood, code := range colours(true) {
		var index int
		if _, err := fmt.Sscanf(code, "38;5;%d", &index); err != nil {
			require.Equal(t, Faint, mood)
			continue
		}
		require.Greater(t, (light(index)+0.05)/0.05, 3.8, "%s on black", code)
		require.Greater(t, 1.05/(light(index)+0.05), 4.5, "%s on white", code)
	}
	require.NotContains(t, colours(false), Busy)
}
