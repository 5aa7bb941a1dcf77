FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## feed plan files, stored revisions and set parents with random input: make fuzz FUZZTIME=10m
	$(GO) test ./applyset -run '^$$' -fuzz '^FuzzReadParent$$' -fuzztime $(FUZZTIME)
	$(GO) test ./state -run '^$$' -fuzz '^FuzzRevision$$' -fuzztime $(FUZZTIME)
	$(GO) test ./state -run '^$$' -fuzz '^FuzzChunk$$' -fuzztime $(FUZZTIME)
	$(GO) test ./cmd/ordapply -run '^$$' -fuzz '^FuzzPlanFile$$' -fuzztime $(FUZZTIME)
