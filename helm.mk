# What proves that hooks run as Helm runs them: Helm itself, in the version that a
# module of its own lists. The Makefile includes it.
HELM_MODULE := internal/peers/helm

.PHONY: helm-referee
helm-referee: $(BIN)/helm-referee ## build the Helm that hooks are compared with

$(BIN)/helm-referee: $(HELM_MODULE)/go.mod
	@echo "building $(notdir $@)"
	@$(GO) -C $(HELM_MODULE) build -trimpath -ldflags '-s -w' -o $@ helm.sh/helm/v4/cmd/helm
	@touch $@

test: helm-referee
