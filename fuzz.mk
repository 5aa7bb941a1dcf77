FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## feed plan files, stored revisions and set parents with random input: make fuzz FUZZTIME=10m
	$(GO) test ./applyset -run '^$$' -fuzz '^FuzzReadParent$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
	$(GO) test ./state -run '^$$' -fuzz '^FuzzRevision$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
	$(GO) test ./state -run '^$$' -fuzz '^FuzzChunk$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
	$(GO) test ./cmd/ordapply -run '^$$' -fuzz '^FuzzPlanFile$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 2s
