// Command bare is the baseline for ordapply's speed: it reads a file of
// manifests and sends 32 server-side apply PATCHes at a time, without ordering,
// waiting or checks. With -annotate it adds an annotation as long as the one by which ordapply
// knows an unchanged object. With -delete it sends DELETEs instead.
//
//	bare [-annotate | -delete] KUBECONFIG FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func main() {
	deletes := flag.Bool("delete", false, "delete the objects")
	annotates := flag.Bool("annotate", false, "add an annotation")
	flag.Parse()
	send := request(patch)
	if *annotates {
		send = patchAnnotated
	}
	if *deletes {
		send = remove
	}
	if err := run(flag.Arg(0), flag.Arg(1), send); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func run(kubeconfig, file string, send request) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	docs := make(chan string)
	var workers sync.WaitGroup
	errs := make(chan error, 32)
	for range 32 {
		workers.Go(func() {
			for doc := range docs {
				if err := each(client, doc, send); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for doc := range strings.SplitSeq(string(text), "---\n") {
		if strings.TrimSpace(doc) != "" {
			docs <- doc
		}
	}
	close(docs)
	workers.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// request is a request about one object, given also as JSON.
type request func(client dynamic.ResourceInterface, obj *unstructured.Unstructured, body []byte) error

func each(client dynamic.Interface, doc string, send request) error {
	body, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(body); err != nil {
		return err
	}
	gvk := obj.GroupVersionKind()
	return send(client.Resource(gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind)+"s")).Namespace(obj.GetNamespace()), obj, body)
}

func patch(client dynamic.ResourceInterface, obj *unstructured.Unstructured, body []byte) error {
	_, err := client.Patch(context.Background(), obj.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "bare"})
	return err
}

func patchAnnotated(client dynamic.ResourceInterface, obj *unstructured.Unstructured, _ []byte) error {
	obj.SetAnnotations(map[string]string{"example.com/mark": "v1:0123456789abcdefghijklmn"})
	body, err := obj.MarshalJSON()
	if err != nil {
		return err
	}
	return patch(client, obj, body)
}

func remove(client dynamic.ResourceInterface, obj *unstructured.Unstructured, _ []byte) error {
	return client.Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{})
}
