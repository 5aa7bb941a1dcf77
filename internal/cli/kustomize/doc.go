// Package kustomize builds kustomizations with kustomize's library. A SortOrder under
// transformers runs without kustomize's flags and without a program on PATH: this program
// is the function. Functions of others run only with the flags, as in kustomize.
//
//	stream, err := kustomize.Build{Folder: "overlays/prod", Own: true}.Run()
package kustomize
