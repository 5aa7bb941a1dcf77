package main

import (
	"cmp"
	"context"
	"os"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubectlDefault is the server that kubectl's flags fall back to without any
// configuration.
const kubectlDefault = "http://localhost:8080"

// kubeconfig is the result of a kubeconfig and kubectl's flags.
type kubeconfig struct {
	config    *rest.Config
	empty     bool // no cluster is configured
	context   string
	namespace string
	enforce   bool // --namespace was given
}

// readKubeconfig reads the kubeconfig, and the certificates and tokens that it
// and the flags refer to.
func readKubeconfig(ctx context.Context, flags *genericclioptions.ConfigFlags) (kubeconfig, error) {
	loader := flags.ToRawKubeConfigLoader()
	return runAbortable(ctx, "reading "+kubeconfigFiles(flags), func(context.Context) (k kubeconfig, err error) {
		if k.config, err = loader.ClientConfig(); err != nil {
			return k, err
		}
		if k.namespace, k.enforce, err = loader.Namespace(); err != nil {
			return k, err
		}
		raw, err := loader.RawConfig()
		k.context = cmp.Or(deref(flags.Context), raw.CurrentContext)
		if k.empty = len(raw.Clusters) == 0 && k.config.Host == kubectlDefault; k.empty || err != nil {
			return k, err
		}
		_, err = rest.TLSConfigFor(k.config)
		return k, err
	})
}

// readContext reads only the names of the context and the namespace.
func readContext(ctx context.Context, flags *genericclioptions.ConfigFlags) (kubeconfig, error) {
	loader := flags.ToRawKubeConfigLoader()
	return runAbortable(ctx, "reading "+kubeconfigFiles(flags), func(context.Context) (kubeconfig, error) {
		raw, err := loader.RawConfig()
		namespace, enforce, _ := loader.Namespace()
		return kubeconfig{context: cmp.Or(deref(flags.Context), raw.CurrentContext), namespace: namespace, enforce: enforce}, err
	})
}

// kubeconfigFiles names the files that readKubeconfig and readContext read.
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

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
