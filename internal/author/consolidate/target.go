package consolidate

// Target bounds the result of Consolidate. The zero value merges only waves
// that are proven independent.
type Target struct {
	// AssumeIndependent also merges waves that no edge connects, without proof. With Into or
	// Range it only does so as far as needed, and may change the order of such waves.
	AssumeIndependent bool
	// Into is the maximum number of waves of a phase; 0 means no limit. Waves
	// that no edge connects are merged until the limit is met: first waves
	// proven independent, then waves with the closest numbers.
	Into int
	// Range bounds the new numbers, and with them Into; nil means no bound.
	Range *WaveRange
}

// WaveRange is the lowest and the highest permitted wave number. It must
// contain 0, the wave of resources without a number.
type WaveRange struct{ Low, High int }

// most returns the maximum number of waves of a phase; 0 means no limit.
func (t Target) most() int {
	if t.Range == nil {
		return t.Into
	}
	most := t.Range.High - t.Range.Low + 1
	if t.Into > 0 {
		most = min(most, t.Into)
	}
	return most
}
