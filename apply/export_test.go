package apply

// NotSent is err as the error of a request that got no connection.
func NotSent(err error) error { return notSentError{err} }
