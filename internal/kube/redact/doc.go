// Package redact hides the values of Secrets in texts: in errors, logs, events and
// diffs. An error may repeat a value as the manifest has it, plain, in base64 or quoted:
// all are hidden.
//
//	err = redact.Error(secret, err)                          // "(value of a Secret)" instead of "hunter2"
//	line = redact.NewReplacer(redact.Values(secret)).Line(line) // the same in a line of a log
//
// A diff shows that a value has changed without showing the value: Masker.
package redact
