package main

import "fmt"

// egressFile configures the API server's connections to the cluster (its
// --egress-selector-config-file).
const egressFile = "egress.yaml"

// egress sends the API server's connections to webhooks, aggregated APIs and kubelets through the proxy on a Unix socket;
// without a proxy, nowhere else than they would go. See https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/.
func (c *cluster) egress() string {
	if c.PodProxy == "" {
		return ""
	}
	return fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: %q}}
`, c.PodProxy)
}

// hostNetwork is the address of Pods on their Node's network, where a proxy answers for them. An EndpointSlice may not hold
// the Nodes' own address, which is 127.0.0.1; "": Pods have that.
func (c *cluster) hostNetwork() string {
	if c.PodProxy == "" {
		return ""
	}
	return "10.244.255.254"
}
