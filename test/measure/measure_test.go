package measure

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// The interval is the narrowest one with 95 % confidence: the sum of binomial coefficients
// between its ranks says so.
func TestInterval(t *testing.T) {
	confidence := func(n, low, high int) float64 {
		sum := new(big.Int)
		for k := low + 1; k <= high; k++ {
			sum.Add(sum, new(big.Int).Binomial(int64(n), int64(k)))
		}
		all := new(big.Int).Lsh(big.NewInt(1), uint(n))
		f, _ := new(big.Rat).SetFrac(sum, all).Float64()
		return f
	}
	for n := 6; n < 60; n++ {
		low, high := Interval(n)
		require.Equal(t, n-1, low+high, n)
		require.GreaterOrEqual(t, confidence(n, low, high), 0.95, n)
		require.Less(t, confidence(n, low+1, high-1), 0.95, n)
	}
	for n := 1; n < 6; n++ {
		low, high := Interval(n)
		require.Equal(t, []int{0, n - 1}, []int{low, high})
	}
}

func TestOf(t *testing.T) {
	require.Equal(t, Estimate{Median: 5, Low: 2, High: 8, N: 9}, Of([]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}))
	require.Equal(t, Estimate{Median: 2.5, Low: 1, High: 9, N: 4}, Of([]float64{9, 1, 3, 2}), "between the two in the middle")
	require.Equal(t, Estimate{Median: 3, Low: 3, High: 3, N: 1}, Of([]float64{3}))
}

func TestSlope(t *testing.T) {
	require.InDelta(t, 1, Slope(1000, 2, 4000, 8), 1e-9)
	require.InDelta(t, 2, Slope(1000, 2, 4000, 32), 1e-9)
}
