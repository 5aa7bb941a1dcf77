//go:build never

// Package argocd pins the build of Argo CD: one program that is all of its controllers.
package argocd

import _ "github.com/argoproj/argo-cd/v3/cmd"
