package request

import (
	"context"

	"github.com/ordapply/ordapply/internal/run/loop"
)

// Reply is the answer to a request about a step.
type Reply struct {
	Request
	Answer
	Step int
	Err  error
}

// Queue sends the requests of a run's steps by the workers of its loop.
type Queue struct {
	Loop   *loop.Loop
	Sender Sender
	// OnStart is called when a worker has started a request, OnReply with its answer.
	OnStart func(op Op, step int)
	OnReply func(Reply)
}

// Submit queues a request.
func (q *Queue) Submit(step int, request Request) {
	q.Loop.Queue = append(q.Loop.Queue, loop.Task{
		Do: func(ctx context.Context) func() {
			answer, err := q.Sender.Send(ctx, request)
			return func() { q.OnReply(Reply{request, answer, step, err}) }
		},
		Started:   func() { q.OnStart(request.Op, step) },
		Completes: request.Completes,
	})
}
