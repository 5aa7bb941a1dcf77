package connect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
)

// kubectlDefault is the server that kubectl's flags fall back to without any
// configuration.
const kubectlDefault = "http://localhost:8080"

// Kubeconfig is the result of a kubeconfig and kubectl's flags.
type Kubeconfig struct {
	config    *rest.Config
	empty     bool // no cluster is configured
	Context   string
	user      string // that the context names
	Namespace string
	enforce   bool // --namespace was given
}

// readKubeconfig reads the kubeconfig, and the certificates and tokens that it
// and the flags refer to.
func readKubeconfig(ctx context.Context, flags *genericclioptions.ConfigFlags) (Kubeconfig, error) {
	loader := flags.ToRawKubeConfigLoader()
	return abortable.Run(ctx, "reading "+kubeconfigFiles(flags), func(context.Context) (k Kubeconfig, err error) {
		if k.config, err = loader.ClientConfig(); err != nil {
			return k, withContexts(err, loader, deref(flags.Context))
		}
		if k.Namespace, k.enforce, err = loader.Namespace(); err != nil {
			return k, err
		}
		raw, err := loader.RawConfig()
		k.Context = cmp.Or(deref(flags.Context), raw.CurrentContext)
		if used := raw.Contexts[k.Context]; used != nil {
			k.user = used.AuthInfo
		}
		if k.empty = len(raw.Clusters) == 0 && k.config.Host == kubectlDefault; k.empty || err != nil {
			return k, err
		}
		_, err = rest.TLSConfigFor(k.config)
		return k, err
	})
}

// withContexts adds the contexts that exist to the error about one that does not.
func withContexts(err error, loader clientcmd.ClientConfig, name string) error {
	raw, unread := loader.RawConfig()
	if unread != nil || name == "" || raw.Contexts[name] != nil || len(raw.Contexts) == 0 {
		return err
	}
	all := slices.Sorted(maps.Keys(raw.Contexts))
	list := plain.Sample(all, 10, "and %d more", func(s string) string { return s })
	return fmt.Errorf("%w%s; the contexts are %s", err, nearest.DidYouMean(name, all), strings.Join(list, ", "))
}

// ReadContext reads only the names of the context and the namespace.
func ReadContext(ctx context.Context, flags *genericclioptions.ConfigFlags) (Kubeconfig, error) {
	loader := flags.ToRawKubeConfigLoader()
	return abortable.Run(ctx, "reading "+kubeconfigFiles(flags), func(context.Context) (Kubeconfig, error) {
		raw, err := loader.RawConfig()
		namespace, enforce, _ := loader.Namespace()
		return Kubeconfig{Context: cmp.Or(deref(flags.Context), raw.CurrentContext), Namespace: namespace, enforce: enforce}, err
	})
}

// Names are the names in a kubeconfig, sorted.
type Names struct{ Contexts, Clusters, Users []string }

// ReadNames reads the names in a kubeconfig.
func ReadNames(ctx context.Context, flags *genericclioptions.ConfigFlags) (Names, error) {
	return abortable.Run(ctx, "reading "+kubeconfigFiles(flags), func(context.Context) (Names, error) {
		raw, err := flags.ToRawKubeConfigLoader().RawConfig()
		return Names{slices.Sorted(maps.Keys(raw.Contexts)), slices.Sorted(maps.Keys(raw.Clusters)), slices.Sorted(maps.Keys(raw.AuthInfos))}, err
	})
}

// Place is the target of a context of a kubeconfig: a namespace of an API server. Gateways
// tell API servers with the same URL apart by the other fields.
type Place struct{ Server, ProxyURL, TLSServerName, Namespace string }

// ReadContexts reads the targets of a kubeconfig's contexts. The map is nil only with an
// error.
func ReadContexts(ctx context.Context, flags *genericclioptions.ConfigFlags) (map[string]Place, error) {
	return abortable.Run(ctx, "reading "+kubeconfigFiles(flags), func(context.Context) (map[string]Place, error) {
		raw, err := flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, err
		}
		places := map[string]Place{}
		for name, c := range raw.Contexts {
			place := Place{Namespace: cmp.Or(c.Namespace, "default")}
			if of := raw.Clusters[c.Cluster]; of != nil {
				place.Server, place.ProxyURL, place.TLSServerName = strings.TrimRight(of.Server, "/"), of.ProxyURL, of.TLSServerName
			}
			places[name] = place
		}
		return places, nil
	})
}

// Program is a user of a kubeconfig with a login program.
type Program struct {
	User  string
	Field string // exec or auth-provider
}

// ProgramOf returns the first user of a kubeconfig, by name, with a login program; nil if
// there is none. It starts no program.
func ProgramOf(ctx context.Context, flags *genericclioptions.ConfigFlags) (*Program, error) {
	return abortable.Run(ctx, "reading "+kubeconfigFiles(flags), func(context.Context) (*Program, error) {
		raw, err := flags.ToRawKubeConfigLoader().RawConfig()
		for _, name := range slices.Sorted(maps.Keys(raw.AuthInfos)) {
			switch user := raw.AuthInfos[name]; {
			case user.Exec != nil:
				return &Program{User: name, Field: "exec"}, err
			case user.AuthProvider != nil:
				return &Program{User: name, Field: "auth-provider"}, err
			}
		}
		return nil, err
	})
}

// kubeconfigFiles names the files that readKubeconfig and ReadContext read.
func kubeconfigFiles(flags *genericclioptions.ConfigFlags) string {
	text := "the kubeconfig " + clientcmd.RecommendedHomeFile
	if name := deref(flags.KubeConfig); name != "" {
		text = "the kubeconfig " + name + " (--kubeconfig)"
	} else if names := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); names != "" {
		text = "the kubeconfig " + names + " (" + clientcmd.RecommendedConfigPathEnvVar + ")"
	}
	text += " and the files that it names"
	for _, file := range []struct{ name, flag string }{
		{deref(flags.CAFile), "--certificate-authority"}, {deref(flags.CertFile), "--client-certificate"}, {deref(flags.KeyFile), "--client-key"},
	} {
		if file.name != "" {
			text += ", " + file.name + " (" + file.flag + ")"
		}
	}
	return text
}

// ScopeOf returns the scope of a stream according to flags and kubeconfig,
// without contacting the cluster. Members of an apply set may be in other
// namespaces.
func ScopeOf(cluster *genericclioptions.ConfigFlags, set string) func(context.Context) apply.Scope {
	return func(ctx context.Context) apply.Scope {
		known, err := ReadContext(ctx, cluster)
		if err != nil {
			known = Kubeconfig{Namespace: deref(cluster.Namespace)}
		}
		return apply.Scope{Namespace: cmp.Or(known.Namespace, "default"), Enforce: known.enforce && set == ""}
	}
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
