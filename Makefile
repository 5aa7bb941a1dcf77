# Every target says what it is for; a bare `make` lists them.
SHELL := /bin/bash
BIN := $(CURDIR)/bin
GO ?= go
KUSTOMIZE_VERSION := v5.8.1
GOLANGCI_VERSION := v2.13.0
GORELEASER_VERSION := v2.14.0
CYCLONEDX_VERSION := v1.9.0
export ORDAPPLY_BIN := $(BIN)
# Without Go plugins in kustomize, which a release has not either, the linker drops what is not
# called: links take half as long, and programs 20 MB less.
export GOFLAGS := $(shell $(GO) env GOFLAGS) -tags=kustomize_disable_go_plugin_support

# The race detector needs cgo and a C compiler; without them tests run plain.
RACE := $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v $$($(GO) env CC) >/dev/null && echo -race)
# These packages start no goroutine, which a test in test/architecture checks: the race
# detector could find nothing in them, and they would take ten times as long.
SEQUENTIAL := applyset fn internal/author/consolidate internal/author/lint object ordering ordering/planner sortorder
# The programs and their tests on control planes start thousands of processes and take three
# times as long under the race detector; `make race` runs them so.
PROGRAMS := $(shell $(GO) list ./cmd/... ./test/... ./examples/...)
CONCURRENT = $(filter-out $(PROGRAMS) $(addprefix github.com/ordapply/ordapply/,$(SEQUENTIAL)),$(shell $(GO) list ./...))
CLUSTER ?= local
# These packages read input that could make them use any memory. The race detector reserves
# more than the limit of their tests, so these also run without it.
BOUNDED := health internal/judge/condition state/history internal/cli/input manifest
# Tests on a control plane mostly wait for it.
PARALLEL ?= 6
# `make lint` has vetted the code.
TEST := $(GO) test -vet=off

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ordapply and sortorder into bin/
	$(GO) build -trimpath -o $(BIN)/ ./cmd/ordapply ./cmd/sortorder

.PHONY: localcluster
localcluster: ## build the control plane for demo and tests (some minutes, once)
	$(GO) -C test/localcluster build -trimpath -o $(BIN)/localcluster .
	$(BIN)/localcluster build

$(BIN)/kustomize-$(KUSTOMIZE_VERSION):
	@echo "building kustomize $(KUSTOMIZE_VERSION)"
	@tmp=$$(mktemp -d) && GOBIN=$$tmp $(GO) install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION) && \
		mkdir -p $(BIN) && mv $$tmp/kustomize $@ && rmdir $$tmp
	@ln -sf $(notdir $@) $(BIN)/kustomize

.PHONY: kustomize
kustomize: $(BIN)/kustomize-$(KUSTOMIZE_VERSION) ## build the kustomize that demo and tests use

# What proves that emit is understood: the tools that read it, in the versions that a
# module of their own lists. Helm is what hooks are compared with.
EMIT_PEERS := $(BIN)/kapp $(BIN)/kapply
EMIT_MODULE := test/peers/emit
HELM_MODULE := test/peers/helm

.PHONY: emit-peers
emit-peers: $(EMIT_PEERS) ## build kapp and kapply (kpt live's engine), which emit is tested with

$(BIN)/kapp: PEER := carvel.dev/kapp/cmd/kapp
$(BIN)/kapply: PEER := sigs.k8s.io/cli-utils/cmd
$(EMIT_PEERS): $(EMIT_MODULE)/go.mod
	@echo "building $(notdir $@)"
	@$(GO) -C $(EMIT_MODULE) build -trimpath -ldflags '-s -w' -o $@ $(PEER)
	@touch $@

.PHONY: helm-referee
helm-referee: $(BIN)/helm-referee $(BIN)/helm3-referee ## build Helm 4, whose hooks the tests compare with, and Helm 3, whose releases move over

$(BIN)/helm-referee: $(HELM_MODULE)/go.mod
	@echo "building $(notdir $@)"
	@$(GO) -C $(HELM_MODULE) build -trimpath -ldflags '-s -w' -o $@ helm.sh/helm/v4/cmd/helm
	@touch $@

$(BIN)/helm3-referee: $(HELM_MODULE)3/go.mod
	@echo "building $(notdir $@)"
	@$(GO) -C $(HELM_MODULE)3 build -trimpath -ldflags '-s -w' -o $@ helm.sh/helm/v3/cmd/helm
	@touch $@

OTLP_MODULE := test/peers/otlp

.PHONY: otlp-receiver
otlp-receiver: $(BIN)/otlp-receiver ## build the receiver of the OpenTelemetry collector, which traces are tested with

$(BIN)/otlp-receiver: $(OTLP_MODULE)/go.mod $(OTLP_MODULE)/main.go
	@echo "building $(notdir $@)"
	@$(GO) -C $(OTLP_MODULE) build -trimpath -ldflags '-s -w' -o $@ .
	@touch $@

# Debian's Chromium, in which the page of a run is tested. Another one can be named.
ORDAPPLY_CHROMIUM ?= chromium
# In CI it must be there; elsewhere tests are skipped by name without it.
test: export ORDAPPLY_CHROMIUM := $(if $(CI),$(ORDAPPLY_CHROMIUM))

.PHONY: browser
browser: ## install the Chromium that tests use, with apt; ORDAPPLY_CHROMIUM names another
	@command -v $(ORDAPPLY_CHROMIUM) >/dev/null || { \
		root=$$([ $$(id -u) = 0 ] || echo sudo); \
		$$root apt-get update -q && $$root apt-get install -qy --no-install-recommends chromium fonts-dejavu-core; } || { \
		echo "install Chromium, and name it with ORDAPPLY_CHROMIUM=..."; exit 1; }

.PHONY: demo
demo: build kustomize $(if $(filter local,$(CLUSTER)),localcluster) ## apply examples/shop to a real control plane and prove its order; CLUSTER=current uses your kubeconfig
	@$(GO) run ./test/demo -cluster=$(CLUSTER)

.PHONY: pictures
pictures: build localcluster browser ## draw the pictures of README.md from a run on a control plane
	@$(GO) run ./test/pictures docs/pictures

.PHONY: test
test: build kustomize localcluster emit-peers helm-referee otlp-receiver $(if $(CI),browser) ## run every test, including those on real control planes
	$(TEST) $(addprefix ./,$(SEQUENTIAL))
	$(TEST) -short $(addprefix ./,$(BOUNDED))
	@$(MAKE) --no-print-directory explore FAULTS=1
	$(TEST) $(RACE) -parallel $(PARALLEL) -timeout 60m $(CONCURRENT)
	$(TEST) -parallel $(PARALLEL) -timeout 60m $(PROGRAMS)
	$(GO) -C test/localcluster test -timeout 20m ./...

.PHONY: race
race: build kustomize localcluster emit-peers helm-referee otlp-receiver ## run under the race detector the tests that `make test` runs without it (an hour)
	$(GO) test $(RACE) -parallel $(PARALLEL) -timeout 120m $(PROGRAMS)

.PHONY: test-oldest
test-oldest: build kustomize localcluster emit-peers helm-referee otlp-receiver ## run the tests of commands and pages on the oldest supported Kubernetes
	$(BIN)/localcluster build --kubernetes oldest
	LOCALCLUSTER_KUBERNETES=oldest $(GO) test -parallel $(PARALLEL) -timeout 60m ./cmd/ordapply ./test/readme ./internal/cli/status

.PHONY: engines
engines: ## build the controllers of Flux and Argo CD that test-engines runs, into the user's cache (some minutes, once)
	@$(GO) -C test/engines run ./build

.PHONY: redis
redis: ## install the Redis that Argo CD needs in test-engines, with apt
	@command -v redis-server >/dev/null || { \
		root=$$([ $$(id -u) = 0 ] || echo sudo); \
		$$root apt-get update -q && $$root apt-get install -qy --no-install-recommends redis-server; } || { \
		echo "install Redis: tests run redis-server"; exit 1; }

.PHONY: test-engines
test-engines: build kustomize localcluster engines redis ## apply exported trees with the real Flux and Argo CD, prove their order, and compare wall times (half an hour)
	ORDAPPLY_ENGINES=all $(GO) -C test/engines test -count=1 -v -parallel $(PARALLEL) -timeout 90m ./...

# CI runs the quicker of these tests where the engines are built, and says what it leaves out.
.PHONY: check-engines
check-engines:
	@if $(GO) -C test/engines run ./build -check; then $(MAKE) --no-print-directory build kustomize localcluster redis && \
		$(GO) -C test/engines test -count=1 -v -parallel $(PARALLEL) -timeout 30m ./... | grep -v '^=== '; exit $${PIPESTATUS[0]}; \
	else echo "left out: the tests with Flux and Argo CD, which are not built here (make test-engines)"; fi

# An image that has git, make and Go, and nothing else that this project uses.
GO_IMAGE ?= golang:1.26
# What a newcomer does: clone, build, follow the README, the pages and the tutorial, demo.
define NEWCOMER
set -eu
git config --global --add safe.directory '*'
git clone -q /source /root/ordapply
cd /root/ordapply
make build kustomize localcluster helm-referee
CI=1 go test -count=1 -timeout 30m -v -run '^TestDocumentedCommandsWork$$|^TestTutorialPage$$' ./test/readme ./cmd/ordapply
make demo
endef

.PHONY: test-newcomer
test-newcomer: export NEWCOMER := $(NEWCOMER)
test-newcomer: ## run the commands of README, pages and tutorial in a container that has only git, make and Go (GO_IMAGE, DOCKER_FLAGS)
	docker run --rm --network host $(DOCKER_FLAGS) -v $(CURDIR):/source:ro $(GO_IMAGE) sh -c "$$NEWCOMER"

# Failures in full, one line for each package, and at the end the tests that were left out,
# by reason.
define FAST
/^ *[a-z_0-9]+\.go:[0-9]+: / { reason = $$0; sub(/^[^:]*:[0-9]+: /, "", reason); sub(/^(left out with -short|Test[A-Za-z]+ is skipped): /, "", reason) }
/--- SKIP: TestScripts\/cluster_/ { reason = "the localcluster command (run `make localcluster`)" }
/--- SKIP: TestScripts\/kustomize_/ { reason = "kustomize (run `make kustomize`)" }
/^ *--- SKIP/ { if (!(reason in count)) order[++reasons] = reason; count[reason]++; names[reason] = names[reason] " " $$3; skipped++; next }
/^ *--- FAIL/ { failed = 1 }
/^=== / { failed = 0 }
failed || /^(FAIL|panic)/ || /^ok/ { print }
END {
	for (i = 1; i <= reasons; i++) printf "left out, %d: %s:%s\n", count[order[i]], order[i], names[order[i]]
	printf "%d tests were left out; make test runs them\n", skipped
}
endef

.PHONY: test-fast
test-fast: export FAST := $(FAST)
test-fast: ## run the tests that need no control plane, in a minute, and name the ones left out
	@set -o pipefail; $(GO) test -short -v ./... | awk "$$FAST"

$(BIN)/golangci-lint-$(GOLANGCI_VERSION):
	@echo "building golangci-lint $(GOLANGCI_VERSION)"
	@tmp=$$(mktemp -d) && GOBIN=$$tmp $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) && \
		mkdir -p $(BIN) && mv $$tmp/golangci-lint $@ && rmdir $$tmp

.PHONY: lint
lint: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## check style and common mistakes
	$< run ./...

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

.PHONY: share
share: ## write the man pages and completions of both programs into bin/share
	rm -rf $(BIN)/share
	ORDAPPLY_SHARE=$(BIN)/share $(GO) test -count=1 -run 'TestManPages?$$|TestCompletionsOfARelease$$' ./cmd/...

.PHONY: golden
golden: ## rewrite the expected outputs of the golden tests
	ORDAPPLY_GOLDEN=1 $(GO) test ./ordering ./internal/author/lint ./internal/author/consolidate ./sortorder ./fn ./health ./internal/author/keys ./internal/cli/rbac ./internal/view/events ./internal/view/telemetry ./internal/view/terminal ./test/helmreferee ./test/cases ./cmd/...

.PHONY: bench
bench: build localcluster emit-peers ## measure speed and memory against their limits
	$(GO) run ./test/bench first-apply chain ordering crds no-op memory documents

.PHONY: compare
compare: build localcluster kustomize emit-peers $(BIN)/helm-referee ## measure ordapply beside kubectl, kapp, kapply and Helm, and Flux and Argo CD where make engines has built them, collect the results in docs/benchmarks/results.json, and write docs/benchmarks.md (hours); WORK=objects,plan SIZES=100,1000 DELAYS=5ms ROUNDS=2 PEERS='kapp;Helm' choose a part, AS=FILE the parts, programs and rounds of other results, RESULTS=FILE other results, RESUME=1 goes on with a run that was stopped; results are of one machine: a part on another needs RESULTS=FILE
	$(GO) run ./test/compare run
	$(GO) run ./test/compare page

.PHONY: compare-check
compare-check: ## compare the results of `make compare` with the limits
	$(GO) run ./test/compare check

.PHONY: compare-repeat
compare-repeat: ## compare the results of `make compare` with those of another run, OTHER=FILE
	$(GO) run ./test/compare repeat '$(OTHER)'

.PHONY: bench-ordering
bench-ordering: build ## compare planning with kapp's change graph and cli-utils' graph sort
	$(GO) run ./test/peers/orderbench -bin $(BIN)

.PHONY: bench-fn
bench-fn: build kustomize ## compare the function with functions that do nothing
	$(GO) test -run '^$$' -bench . -benchmem ./sortorder ./fn
	$(GO) run ./test/peers/fnbench -bin $(BIN)

.PHONY: chaos
chaos: build localcluster ## kill and suspend commands at each of their requests, restart the API server, pause etcd
	ORDAPPLY_CHAOS=all $(GO) test -parallel 8 -timeout 120m -run '^TestChaos' -v ./test/chaos | grep -v '^=== '

OBJECTS ?= 2560
.PHONY: differential
differential: build localcluster ## compare what ordapply and kubectl apply --server-side store: OBJECTS=2560 random objects, examples, and the streams in ORDAPPLY_CORPORA, each edited three times (an hour; ORDAPPLY_SEED=1)
	ORDAPPLY_DIFFERENTIAL=all ORDAPPLY_OBJECTS=$(OBJECTS) $(GO) test -count=1 -timeout 6h -v ./test/differential

FAULTS ?= 2
SCENARIOS ?= .
.PHONY: explore
explore: ## try every history of two runs on a set, with FAULTS=2 faults (hours; with 1, minutes); SCENARIOS='hooks|adoption' chooses
	$(GO) test -c -o $(BIN)/explore.test ./state
	cd state && ORDAPPLY_EXPLORE=names $(BIN)/explore.test -test.run '^TestEveryHistory$$' | sed -n 's/^scenario //p' | grep -E '$(SCENARIOS)' | \
		ORDAPPLY_EXPLORE=$(FAULTS) GOGC=2000 GOMAXPROCS=1 xargs -P 4 -I{} $(BIN)/explore.test -test.memprofilerate=0 -test.timeout 48h -test.run '^TestEveryHistory$$/^{}$$'

FUZZTIME ?= 10m
.PHONY: fuzz
fuzz: ## feed plan files, stored revisions, set parents and streams with random input, FUZZTIME each
	$(GO) test ./applyset -run '^$$' -fuzz '^FuzzReadParent$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
	$(GO) test ./state/history -run '^$$' -fuzz '^FuzzRevision$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
	$(GO) test ./state/history -run '^$$' -fuzz '^FuzzChunk$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
	$(GO) test ./internal/cli/plan -run '^$$' -fuzz '^FuzzPlanFile$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
	$(GO) test ./fn -run '^$$' -fuzz '^FuzzStream$$' -fuzztime $(FUZZTIME)
	$(GO) test ./fn -run '^$$' -fuzz '^FuzzOddLines$$' -fuzztime $(FUZZTIME)
	$(GO) test ./internal/author/edit -run '^$$' -fuzz '^FuzzVerbatim$$' -fuzztime $(FUZZTIME)

CORPORA ?= corpora
.PHONY: corpora
corpora: kustomize helm-referee ## render the real streams of the tests from their repositories (test/corpora/sources.yaml) and compare their checksums; CORPORA=DIR STREAMS="flux jobset" choose
	@$(GO) run ./test/corpora/rebuild -into '$(CORPORA)' $(STREAMS)

SHUFFLES ?= 10
.PHONY: first-try
first-try: build localcluster ## apply the real streams in ORDAPPLY_CORPORA, the programs of make unkind, and SHUFFLES=10 shuffles of each to empty clusters, compared with kubectl and, where they are built, kapp, kapply and Helm (many hours); TRY="flux jobset" or TRY=unkind chooses, FLAGS="-tools kapp,helm -tries 3" the others and their number of orders
	$(GO) run ./test/firsttry -shuffles $(SHUFFLES) $(FLAGS) $(TRY)

.PHONY: unkind
unkind: build localcluster ## apply programs whose Pods wait for more than their start, each as written and in SHUFFLES=10 orders, and compare the time with what they take by themselves (an hour)
	ORDAPPLY_SHUFFLES=$(SHUFFLES) ORDAPPLY_TIME=1 $(GO) test -count=1 -timeout 3h -v ./test/unkind

IMAGE ?= ordapply/sortorder:dev
IMAGE_DIR := $(BIN)/image
.PHONY: image
image: ## build the container image of the function ($IMAGE)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(IMAGE_DIR)/sortorder ./cmd/sortorder
	@printf 'nobody:x:65534:65534:nobody:/:/sbin/nologin\n' > $(IMAGE_DIR)/passwd
	docker build -q --network none -t $(IMAGE) -f Dockerfile $(IMAGE_DIR)

$(BIN)/goreleaser-$(GORELEASER_VERSION) $(BIN)/cyclonedx-gomod-$(CYCLONEDX_VERSION): $(BIN)/%:
	@echo "building $*"
	@tmp=$$(mktemp -d) && GOBIN=$$tmp $(GO) install $(if $(findstring goreleaser,$*),github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION),github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION)) && \
		mkdir -p $(BIN) && mv $$tmp/* $@ && rmdir $$tmp
	@ln -sf $(notdir $@) $(BIN)/$(if $(findstring goreleaser,$*),goreleaser,cyclonedx-gomod)

RELEASE_TOOLS := $(BIN)/goreleaser-$(GORELEASER_VERSION) $(BIN)/cyclonedx-gomod-$(CYCLONEDX_VERSION)

.PHONY: release-snapshot
release-snapshot: $(RELEASE_TOOLS) ## build everything a release has into bin/release, and publish nothing
	@# GoReleaser reads no commit from a checkout without a remote.
	PATH=$(BIN):$$PATH GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/ordapply/ordapply \
		$(BIN)/goreleaser release --snapshot --clean --skip=sign
	$(GO) -C test/release run . -dist $(BIN)/release

.PHONY: test-release
test-release: release-snapshot ## install from the results of release-snapshot into an empty home, in each way
	$(GO) -C test/release test -count=1 ./...

.PHONY: release
release: $(RELEASE_TOOLS) ## publish the tag of this commit: a draft on GitHub, and the images (needs GITHUB_TOKEN, docker login and cosign; .github/workflows/release.yml runs it)
	PATH=$(BIN):$$PATH $(BIN)/goreleaser release --clean
	$(GO) -C test/release run . -dist $(BIN)/release -push

.PHONY: schema
schema: ## write the JSON Schema of a SortOrder, and the catalog's function definition with it
	ORDAPPLY_GOLDEN=1 $(GO) test -run 'TestSchemaFile|TestFunctionDefinition' ./sortorder ./cmd/sortorder

.PHONY: cross
cross: ## build both programs for the systems that the tests do not run on
	for system in windows darwin; do GOOS=$$system $(GO) build -o $(BIN)/cross/ ./cmd/ordapply ./cmd/sortorder || exit 1; done

.PHONY: check
check: lint cross test demo check-engines ## exactly what CI runs

.PHONY: clean
clean: ## remove build outputs, but not the cache of the control plane
	rm -rf $(BIN)
