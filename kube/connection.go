package kube

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// connection is how requests reach an API server.
type connection struct {
	config *rest.Config
	shared http.RoundTripper // of all requests but those that have a connection of their own
	own    http.RoundTripper
	fences *fences // of the requests that are being sent over shared
}

// connect returns a connection that is made when the first request is sent.
func connect(config *rest.Config) (*connection, error) {
	c := &connection{config: config, fences: &fences{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return attemptTransport{next} })
	own := rest.CopyConfig(config)
	if config.Dial == nil {
		config.Dial, own.Dial = dial(), dial() // clients with the same dial function share connections
	}
	config.Dial = c.fences.dialer(config.Dial)
	var err error
	if c.shared, err = rest.TransportFor(config); err != nil {
		return nil, err
	}
	alone, err := rest.TransportFor(own)
	c.own = ownTransport{alone}
	return c, err
}

// fenced returns a transport that sends requests that write only while a fence allows it.
func (c *connection) fenced(fence Fence) http.RoundTripper {
	return fencedTransport{next: c.shared, fence: &fence, sending: c.fences}
}

// ownTransport is the transport of requests over a connection of their own, on which they
// do not queue behind other requests, and no fence delays them. A connection on which a
// request failed is not used again: it may be broken without either end knowing.
type ownTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (o ownTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(request)
	if err != nil {
		utilnet.CloseIdleConnectionsFor(o.RoundTripper)
	}
	return response, err
}

// clients send requests about objects.
type clients struct {
	objects  dynamic.Interface
	metadata metadata.Interface
}

// newClients returns clients over a transport of a configuration.
func newClients(config *rest.Config, over http.RoundTripper) (clients, error) {
	client := &http.Client{Transport: over, Timeout: config.Timeout}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return clients{}, err
	}
	metadata, err := metadata.NewForConfigAndClient(config, client)
	return clients{objects, metadata}, err
}

// clients returns clients over a transport of the connection. Connect made such clients
// without an error already.
func (c *connection) clients(over http.RoundTripper) clients {
	made, _ := newClients(c.config, over)
	return made
}

// withoutWarnings returns clients that drop the API server's warnings.
func (c *connection) withoutWarnings() clients {
	config := rest.CopyConfig(c.config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, rest.NoWarnings{}
	made, _ := newClients(config, c.shared)
	return made
}
