package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

// A component is one server of the control plane. Its arguments hold its mark, by which `down` and `status` know it again.
type component struct {
	name   string
	binary string // empty: this program itself
	args   []string
}

// The names in the order of starting; stopping goes the other way.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
	podLogs           = "pod-logs"
	podPrograms       = "pod-programs"
)

// etcd listens on sockets in the cluster's folder, where every component has its working folder: a path relative to it
// is never too long for a socket, and no other cluster's server can write into this storage, as it could when two
// clusters chose one port at the same moment. etcd insists on the form HOST:PORT, which is also the file's name.
const (
	etcdSocket     = "unix://etcd:1"
	etcdPeerSocket = "unix://etcd-peer:1"
)

// storage and server are the whole of a light cluster; the rest needs the server to answer.
func (c *cluster) storage() component {
	return component{etcd, c.binary(etcd), []string{
		mark(etcd, c.Dir),
		"--listen-client-urls=" + etcdSocket,
		"--advertise-client-urls=" + etcdSocket,
		"--listen-peer-urls=" + etcdPeerSocket,
		"--initial-advertise-peer-urls=" + etcdPeerSocket,
		"--initial-cluster=default=" + etcdPeerSocket,
		"--unsafe-no-fsync", // the data need not survive this machine
		"--snapshot-count=10000",
		"--log-level=warn",
	}}
}

func (c *cluster) api() component {
	args := []string{
		"--etcd-servers=" + etcdSocket,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // an EndpointSlice may not hold a loopback address
		fmt.Sprintf("--secure-port=%d", c.Ports[portServer]),
		"--tls-cert-file=" + c.cert("kube-apiserver.crt"),
		"--tls-private-key-file=" + c.cert("kube-apiserver.key"),
		"--client-ca-file=" + c.cert("ca.crt"),
		"--token-auth-file=" + c.path("tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.cert("service-account.pub"),
		"--service-account-signing-key-file=" + c.cert("service-account.key"),
		"--kubelet-preferred-address-types=InternalIP", // the Nodes' names resolve nowhere
		"--kubelet-certificate-authority=" + c.cert("ca.crt"),
		"--kubelet-client-certificate=" + c.cert("kubelet-client.crt"),
		"--kubelet-client-key=" + c.cert("kubelet-client.key"),
		"--enable-aggregator-routing=true",
		"--requestheader-client-ca-file=" + c.cert("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.cert("front-proxy-client.crt"),
		"--proxy-client-key-file=" + c.cert("front-proxy-client.key"),
		"--audit-policy-file=" + c.path("audit-policy.yaml"),
		mark(apiServer, c.Dir),
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=1000000", // MB: never rotated
	}
	if c.PodProxy != "" {
		args = append(args, "--egress-selector-config-file="+c.path(egressFile))
	}
	if c.Light { // nothing makes the ServiceAccount that this plugin would demand of every Pod
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	return component{apiServer, c.binary(apiServer), args}
}

// controllers turn objects into other objects and into status.
func (c *cluster) controllers() []component {
	if c.Light {
		return nil
	}
	return []component{
		{controllerManager, c.binary(controllerManager), []string{
			mark(controllerManager, c.Dir),
			"--secure-port=0",
			"--leader-elect=false",
			"--use-service-account-credentials=true",
			"--service-account-private-key-file=" + c.cert("service-account.key"),
			"--root-ca-file=" + c.cert("ca.crt"),
			"--cluster-signing-cert-file=" + c.cert("ca.crt"),
			"--cluster-signing-key-file=" + c.cert("ca.key"),
			"--enable-hostpath-provisioner=true",
			"--flex-volume-plugin-dir=" + c.path("flexvolume"), // it is created: not outside the folder
			"--node-monitor-grace-period=8760h",                // Nodes send no heartbeats, and never fail
			"--kube-api-qps=1000",
			"--kube-api-burst=2000",
			"--profiling=false",
		}},
		{scheduler, c.binary(scheduler), []string{
			mark(scheduler, c.Dir),
			"--secure-port=0",
			"--leader-elect=false",
			"--kube-api-qps=1000",
			"--kube-api-burst=2000",
		}},
		{kwok, c.binary(kwok), []string{
			mark(kwok, c.Dir),
			"--config=stages.yaml", // relative to the folder, whose path may hold a comma: this flag is a list
			"--manage-all-nodes=true",
			"--node-ip=127.0.0.1",
			"--cidr=10.244.0.1/16", // the Pods' addresses
			fmt.Sprintf("--server-address=127.0.0.1:%d", c.Ports[portKwok]),
		}},
		{podLogs, "", []string{podLogs, "--dir", c.Dir}},
		{podPrograms, "", []string{podPrograms, "--dir", c.Dir}},
	}
}

// componentCommand is a component that is this program itself.
func componentCommand(name, short string, serve func(c *cluster, ctx context.Context) error) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    name + " --dir DIR",
		Short:  short,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openFolder(dir)
			if err != nil {
				return err
			}
			return serve(c, cmd.Context())
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

// mark is a part of a component's arguments that only the cluster in dir has.
func mark(name, dir string) string {
	switch name {
	case etcd:
		return "--data-dir=" + filepath.Join(dir, "etcd")
	case apiServer:
		return "--audit-log-path=" + filepath.Join(dir, auditLog)
	case podLogs, podPrograms:
		return name + " --dir " + dir
	default:
		return "--kubeconfig=" + filepath.Join(dir, "auth", name)
	}
}

// names lists the components that this cluster should be running.
func (c *cluster) names() []string {
	names := []string{etcd, apiServer}
	for _, comp := range c.controllers() {
		names = append(names, comp.name)
	}
	return names
}

func (c *cluster) binary(name string) string { return filepath.Join(c.Bin, name) }
func (c *cluster) cert(file string) string   { return c.path("certs", file) }
func (c *cluster) auditLog() string          { return c.path("audit.log") }
func (c *cluster) etcdURL(port string) string {
	return fmt.Sprintf("http://127.0.0.1:%d", c.Ports[port])
}
