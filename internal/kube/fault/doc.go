// Package fault classifies the errors of an API server and adds the remedy to them. It
// makes no requests. Where the code and the reason of an answer do not decide, it reads the
// server's words.
//
//	if fault.RetryBudget(err) == 0 { // the cause does not go away by itself
//		return fault.Explain(err) // the cause, and the remedy
//	}
package fault
