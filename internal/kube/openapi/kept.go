package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/url"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/openapi"
)

// Folder keeps files.
type Folder struct {
	Read  func(name string) ([]byte, error)
	Write func(name string, text []byte) error // replaces the file at once: several commands may run
}

// Kept returns a client that keeps schemas in a folder: the JSON document of each group and
// version of a server, from its components on, until the server says that it has changed.
// Whatever cannot be kept, or is damaged, is read from the server.
func Kept(client openapi.Client, folder Folder, server string) openapi.Client {
	return keptClient{client, folder, server}
}

type keptClient struct {
	openapi.Client
	folder Folder
	server string
}

// Paths implements openapi.Client.
func (c keptClient) Paths() (map[string]openapi.GroupVersion, error) {
	paths, err := c.Client.Paths()
	for path, version := range paths {
		if address, err := url.Parse(version.ServerRelativeURL()); err == nil && address.Query().Has("hash") {
			name := sha256.Sum256([]byte(c.server + "\n" + address.Path))
			paths[path] = keptVersion{version, c.folder, hex.EncodeToString(name[:16])}
		}
	}
	return paths, err
}

// keptVersion is the document of a group and version. Its file begins with the digest of its
// address, which has a hash of the document, and of the text that follows.
type keptVersion struct {
	openapi.GroupVersion
	folder Folder
	name   string
}

// Schema implements openapi.GroupVersion.
func (v keptVersion) Schema(contentType string) ([]byte, error) {
	if contentType != runtime.ContentTypeJSON {
		return v.GroupVersion.Schema(contentType)
	}
	if kept, err := v.folder.Read(v.name); err == nil && len(kept) > sha256.Size {
		if text := kept[sha256.Size:]; bytes.Equal(kept[:sha256.Size], v.digest(text)) {
			return text, nil
		}
	}
	text, err := v.GroupVersion.Schema(contentType)
	if err != nil {
		return nil, err
	}
	text = fromComponents(text)
	_ = v.folder.Write(v.name, append(v.digest(text), text...)) // else the next run reads it again
	return text, nil
}

func (v keptVersion) digest(text []byte) []byte {
	sum := sha256.New()
	sum.Write([]byte(v.ServerRelativeURL() + "\n"))
	sum.Write(text)
	return sum.Sum(nil)
}
