# What belongs to the ordering. The Makefile includes it.

.PHONY: bench-ordering
bench-ordering: ## measure planning beside kapp's change graph and cli-utils' graph sort
	$(GO) run ./internal/peers/orderbench -bin $(BIN)
