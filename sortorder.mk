# What belongs to the sortorder function. The Makefile includes it.
IMAGE ?= ordapply/sortorder:dev
IMAGE_DIR := $(BIN)/image

.PHONY: image
image: ## build the container image of the function ($IMAGE)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(IMAGE_DIR)/sortorder ./cmd/sortorder
	@printf 'nobody:x:65534:65534:nobody:/:/sbin/nologin\n' > $(IMAGE_DIR)/passwd
	docker build -q -t $(IMAGE) -f Dockerfile $(IMAGE_DIR)

.PHONY: schema
schema: ## write the JSON Schema of a SortOrder, and the catalog's definition of the function that holds it
	ORDAPPLY_GOLDEN=1 $(GO) test -run 'TestSchemaFile|TestFunctionDefinition' ./sortorder ./cmd/sortorder

.PHONY: bench-fn
bench-fn: kustomize ## measure the function beside functions that do nothing
	$(GO) test -run '^$$' -bench . -benchmem ./sortorder ./fn
	$(GO) run ./internal/peers/fnbench -bin $(BIN)

FUZZTIME ?= 60s

.PHONY: fuzz-fn
fuzz-fn: ## fuzz the reading and writing of streams, FUZZTIME (60s) each
	$(GO) test -run '^$$' -fuzz '^FuzzStream$$' -fuzztime $(FUZZTIME) ./fn
	$(GO) test -run '^$$' -fuzz '^FuzzOddLines$$' -fuzztime $(FUZZTIME) ./fn

# What proves that emit is understood: the tools that read it, in the versions
# that a module of their own lists.
EMIT_PEERS := $(BIN)/kapp $(BIN)/kapply
EMIT_MODULE := internal/peers/emit

.PHONY: emit-peers
emit-peers: $(EMIT_PEERS) ## build kapp and kapply (kpt live's engine), which emit is tested with

$(BIN)/kapp: EMIT_PACKAGE := carvel.dev/kapp/cmd/kapp
$(BIN)/kapply: EMIT_PACKAGE := sigs.k8s.io/cli-utils/cmd
$(EMIT_PEERS): $(EMIT_MODULE)/go.mod
	@echo "building $(notdir $@)"
	@$(GO) -C $(EMIT_MODULE) build -trimpath -ldflags '-s -w' -o $@ $(EMIT_PACKAGE)
	@touch $@

test: emit-peers
