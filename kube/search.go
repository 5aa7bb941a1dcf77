package kube

import "context"

type search struct{}

// Search marks the requests of a context as a search through kinds that the user did not
// name: the API server's warning about a deprecated kind among them is not for this user.
func Search(ctx context.Context) context.Context { return context.WithValue(ctx, search{}, true) }

// IsSearch reports whether a context was marked by Search.
func IsSearch(ctx context.Context) bool { return ctx.Value(search{}) != nil }
