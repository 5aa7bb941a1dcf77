//go:build !race

package smallmemory

const raceDetector = false
