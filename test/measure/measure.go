// Package measure is the arithmetic of benchmarks: medians with their intervals, slopes, and
// the cost of a process. It imports little, so that a program that uses it stays small.
//
//	e := measure.Of(seconds)
//	fmt.Printf("%.2f (%.2f to %.2f)", e.Median, e.Low, e.High)
package measure

import (
	"math"
	"slices"
)

// Estimate is the median of N values, and the interval that contains the true median with
// 95 % confidence. With fewer than six values it is their range, which has less confidence.
type Estimate struct {
	Median, Low, High float64
	N                 int
}

// Of estimates the median of values, of which there must be one at least.
func Of(values []float64) Estimate {
	sorted := slices.Sorted(slices.Values(values))
	low, high := Interval(len(sorted))
	return Estimate{Median(values), sorted[low], sorted[high], len(sorted)}
}

// Interval returns the ranks, from 0, of the sorted values between which the true median
// of n values lies with 95 % confidence, from the binomial distribution: fewer than 2.5 %
// of all samples have it below the lower rank.
func Interval(n int) (low, high int) {
	probability, below := math.Pow(0.5, float64(n)), 0.0
	for k := range n / 2 {
		if below += probability; below > 0.025 {
			break
		}
		low = k
		probability *= float64(n-k) / float64(k+1)
	}
	return low, n - 1 - low
}

// Median returns the middle of the sorted values, the mean of the two of an even number.
func Median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Slope returns the exponent by which a cost grows between two sizes: 1 is linear.
func Slope(size, cost, largerSize, largerCost float64) float64 {
	return math.Log(largerCost/cost) / math.Log(largerSize/size)
}
