package connect

import (
	"context"
	"os"
	"path/filepath"

	client "k8s.io/client-go/openapi"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/kube/openapi"
	"github.com/ordapply/ordapply/kube"
)

// schemasOf returns the schemas that a cluster publishes, kept in a folder of kubectl's cache of
// all clusters; "" keeps none.
func schemasOf(ctx context.Context, cluster *kube.Kubernetes, cache, server string) client.Client {
	if cache == "" {
		return cluster.OpenAPI()
	}
	folder := filepath.Join(cache, "ordapply")
	return openapi.Kept(cluster.OpenAPI(), openapi.Folder{
		Read: func(name string) ([]byte, error) { return abortable.ReadAll(filepath.Join(folder, name)) }, // openapi.Read limits the time
		Write: func(name string, text []byte) error {
			if err := os.MkdirAll(folder, 0o750); err != nil {
				return err
			}
			return files.Write(ctx, filepath.Join(folder, name), 0o640, text)
		},
	}, server)
}
