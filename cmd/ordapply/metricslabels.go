package main

import (
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// seriesLabels are the labels of every series of a run: the context of the
// kubeconfig, the apply set with the namespace it is kept in, and what
// --metrics-label adds, which wins.
func seriesLabels(cluster *genericclioptions.ConfigFlags, set string, added map[string]string) map[string]string {
	labels := map[string]string{}
	loader := cluster.ToRawKubeConfigLoader()
	if raw, err := loader.RawConfig(); err == nil { // connect reports the error
		labels["context"] = raw.CurrentContext
	}
	if cluster.Context != nil && *cluster.Context != "" {
		labels["context"] = *cluster.Context
	}
	if set != "" {
		namespace, _, _ := loader.Namespace()
		labels["applyset"] = strings.TrimPrefix(namespace+"/"+set, "/")
	}
	maps.Copy(labels, added)
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return labels
}

// refusedLabels are those of a run whose flags were refused.
func refusedLabels(cmd *cobra.Command, args []string) map[string]string {
	cluster := genericclioptions.NewConfigFlags(false)
	*cluster.Context = asked(cmd, args, "context")
	*cluster.KubeConfig = asked(cmd, args, "kubeconfig")
	*cluster.Namespace = asked(cmd, args, "namespace")
	set := cmd.Flags().Arg(0) // of rollback
	if cmd.Flags().Lookup("applyset") != nil {
		set = asked(cmd, args, "applyset")
	}
	var added map[string]string
	loose := pflag.NewFlagSet("", pflag.ContinueOnError)
	loose.StringToStringVar(&added, "metrics-label", nil, "")
	if text := strings.Trim(asked(cmd, args, "metrics-label"), "[]"); text != "" {
		_ = loose.Set("metrics-label", text)
	}
	return seriesLabels(cluster, set, added)
}
