package edit_test

import (
	"fmt"
	"log"

	"github.com/ordapply/ordapply/internal/author/edit"
)

// Comments, quotes and indentation stay as they are: only the line of an annotation is
// added, and the documents change places.
func ExampleRead() {
	input, err := edit.Read([]byte(`apiVersion: v1
kind:   ConfigMap   # settings of the shop
metadata:
    name: 'settings'
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
`))
	if err != nil {
		log.Fatal(err)
	}
	changes := make([]edit.Change, len(input.Metas()))
	changes[0].Set = map[string]string{"ordapply.dev/layer": "platform/data"}
	documents, err := input.Texts([]int{1, 0}, changes)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", edit.Join(documents, nil).Joined())
	// Output:
	// apiVersion: v1
	// kind: Namespace
	// metadata:
	//   name: shop
	// ---
	// apiVersion: v1
	// kind:   ConfigMap   # settings of the shop
	// metadata:
	//     annotations:
	//       ordapply.dev/layer: platform/data
	//     name: 'settings'
}
