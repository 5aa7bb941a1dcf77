package auditlog

// Count counts the requests of a user in a log from an offset, such as the file's earlier
// size: a watch when it starts, any other request when it is answered.
func Count(path string, from int64, user string) (int, error) {
	type event struct {
		Stage, Verb string
		User        struct{ Username string }
	}
	count := 0
	err := eachEvent(path, from, func(r event) {
		counts := "ResponseComplete"
		if r.Verb == "watch" {
			counts = "ResponseStarted"
		}
		if r.User.Username == user && r.Stage == counts {
			count++
		}
	})
	return count, err
}
