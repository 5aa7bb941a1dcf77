package standin

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
)

// roundInterval is the interval between two rounds.
const roundInterval = 300 * time.Millisecond

// Operate acts as the operators of streams until ctx is done: it sets the CA
// bundles of webhooks, creates the kinds of Gatekeeper's ConstraintTemplates,
// reconciles Flux's objects, writes statuses, and provisions the volumes of CSI drivers. It
// returns errors of the kubeconfig only. Requests that the API server rejects
// are retried.
func (p *Pods) Operate(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, "standin"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	o := &operators{client: client, metadata: meta, bundle: p.authority.bundle(), asked: map[string]bool{}}
	tick := time.NewTicker(roundInterval)
	defer tick.Stop()
	for {
		o.work(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// work runs one round. An error does not stop other work and recurs if it
// persists.
func (o *operators) work(ctx context.Context) {
	_ = errors.Join(o.trustWebhooks(ctx), o.trustConversions(ctx), o.makeConstraints(ctx), o.reconcileFlux(ctx), o.reportStatuses(ctx), o.provision(ctx))
}
