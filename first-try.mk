# What shows that real streams are applied at the first try. The Makefile includes it.
SHUFFLES ?= 10

.PHONY: first-try
first-try: build localcluster ## apply real streams and SHUFFLES=10 shuffles of each to empty clusters, beside kubectl (hours); TRY="flux jobset" chooses
	$(GO) run ./internal/firsttry -shuffles $(SHUFFLES) $(if $(STREAMS),-streams $(STREAMS)) $(TRY)
