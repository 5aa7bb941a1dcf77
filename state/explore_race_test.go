//go:build race

package state

// raceDetector is true under -race, where Go's scheduler picks goroutines at
// random.
const raceDetector = true
