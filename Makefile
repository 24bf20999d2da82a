# One target per thing a contributor does. `make check` is what CI runs.
GO      ?= go
PKGS    ?= ./...
LDFLAGS ?= -s -w

.PHONY: build demo test check bench tools lint cross race security nightly fuzz-reads cost mutate

build: ## the program, stripped, as bin/kerf
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/kerf ./cmd/kerf

demo: ## the main job: a scripted model, real tools, real files
	$(GO) run ./cmd/kerf demo

test: tools cross ## all tests; installs bubblewrap, ripgrep, tmux and strace where it can
	$(GO) test -timeout 25m $(PKGS)

check: tools lint cross race ## what a change should pass before it is sent

lint:
	@out=$$(gofmt -l cmd internal); if [ -n "$$out" ]; then echo "gofmt wants:"; echo "$$out"; exit 1; fi
	$(GO) vet $(PKGS)
	$(GO) tool staticcheck $(PKGS)
	@if ! command -v govulncheck >/dev/null; then echo "govulncheck: not installed, not run"; \
	  elif govulncheck $(PKGS); then :; else rc=$$?; [ $$rc -eq 3 ] && exit 1; echo "govulncheck: its database cannot be reached, not run"; fi

cross: ## the systems that are not this one
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...

race:
	$(GO) test -race $(PKGS)

bench: ## kerf exec against a scripted server, beside a minimal client; kerf apply beside git
	$(GO) run ./internal/testkit/bench

security: tools ## every security test as a table: id, backend, pass or the reason why not
	@GO=$(GO) sh ./.ci/security

nightly: tools ## other people's bytes: 10,000 random histories, hundreds of kills, two agents and a user; hours
	KERF_LONG=1 KERF_TRUST_HISTORIES=10000 KERF_TRUST_KILLS=200 KERF_TRUST_STEPS=1000 \
	  $(GO) test -v -timeout 12h ./internal/trust ./internal/work/witness ./internal/work/changes

fuzz-reads: tools ## generated lines that Kerf says only read, run under strace: make fuzz-reads [N=10000] [SEED=1]
	KERF_READS=$(or $(N),10000) KERF_READS_SEED=$(or $(SEED),1) $(GO) test -v -timeout 6h -run OnlyReads ./internal/agent/executor/usershell

cost: ## what watching commands costs, with trees below /tmp
	KERF_COST=/tmp $(GO) test -v -timeout 1h -run TestCost ./internal/work/witness

mutate: ## small changes of a package's code, and which its tests notice: make mutate ROOM=work/txn [N=60] [SEED=1]
	$(GO) run ./internal/testkit/mutate -n $(or $(N),60) -seed $(or $(SEED),1) ./internal/$(ROOM)

tools: ## programs that the tests use as judges
	@sh ./.ci/tools
