// Package status reads the status of a kind that it does not know: by the words that
// controllers use for states, the conditions of the Kubernetes API conventions, counters,
// and fields about errors. Each is a signal; the worst decides unless a good one of the
// same weight contradicts it.
//
//	signals := status.Read(obj, status.Status(obj), nil)
//	s, ok := signals.Decisive() // {Means: MeaningTrouble, Text: "condition Synced is False (ReconcileError): …"}
//
// It reads one object and knows neither rules for kinds nor gates: package health
// does.
package status
