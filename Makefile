# One target per thing a contributor does; `make help` lists them.
GO      ?= go
PKGS    ?= ./...
LDFLAGS ?= -s -w
# What touches no file and starts no program: it has to be the same on each system.
PURE    ?= ./internal/text/... ./internal/protocol/... ./internal/pathname/... ./internal/agent/turn ./internal/agent/history \
  ./internal/agent/policy/... ./internal/agent/prompt ./internal/agent/profile ./internal/agent/proposal ./internal/agent/view ./internal/agent/review
# Those that are tried as programs of Windows: paths of Unix and its shells are not looked at there.
WINDOWS ?= $(filter-out ./internal/agent/policy/... ./internal/agent/turn,$(PURE))
# Where several goroutines use the same memory; make race does all packages.
ROOMS   ?= ./internal/agent/turn ./internal/agent/team ./internal/work/mcpclient ./internal/front/serve/... ./internal/front/web/...
# The packages that read KERF_LONG.
LONG    ?= $(sort $(dir $(shell grep -rlE --include='*_test.go' 'KERF_LONG|testkit/long' cmd internal | sed 's|^|./|')))

.PHONY: help pictures web fleet oracle module release-snapshot release-check pure arm64 wine build demo test check bench tools lint vet staticcheck cross race race-rooms fuzz long security nightly nightly-witness nightly-kills fuzz-reads cost mutate mutate-rooms

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

build: ## the program, stripped, as bin/kerf
	CGO_ENABLED=0 $(GO) build -buildvcs=auto -trimpath -ldflags "$(LDFLAGS)" -o bin/kerf ./cmd/kerf

demo: ## the main job: a scripted model, real tools, real files
	$(GO) run ./cmd/kerf demo

test: tools cross ## all tests, and what was skipped and why; installs bubblewrap, ripgrep, tmux, strace and Chromium where it can
	$(GO) run ./internal/testkit/skips -- -timeout 90m $(VET) $(PKGS)
	@$(MAKE) --no-print-directory fleet SHORT=-short
	@$(MAKE) --no-print-directory oracle

# In CI modules that are missing are brought, and one that cannot be is a failure.
IN_CI   := $(filter-out false,$(CI))
OFFLINE := $(if $(IN_CI),,GOPROXY=off)

fleet: ## the tests of fleet/, a module of its own, where what it needs is there: cd fleet && go mod download; make test needs no engine
	@if why=$$(cd fleet && GOFLAGS=-mod=readonly $(OFFLINE) $(GO) list $(if $(SHORT),-tags noengine) -deps -test ./... 2>&1 >/dev/null); \
	  then cd fleet && $(MAKE) --no-print-directory test GO=$(GO) SHORT=$(SHORT); \
	  elif echo "$$why" | grep -q 'updates to go.mod needed'; then echo "fleet: its go.mod is behind (cd fleet && go mod tidy)"; exit 1; \
	  else echo "fleet: its modules are not there (cd fleet && go mod download); its tests were not run"; [ -z "$(IN_CI)" ] || { echo "$$why"; exit 1; }; fi

oracle: ## the providers' own libraries as judges, and tokens, where they are there: cd internal/testkit/oracle && go mod download
	@if why=$$(cd internal/testkit/oracle && GOFLAGS=-mod=readonly $(OFFLINE) $(GO) list -deps -test ./... 2>&1 >/dev/null); \
	  then cd internal/testkit/oracle && $(if $(VET),,$(GO) vet ./... &&) $(GO) test $(VET) ./...; \
	  elif echo "$$why" | grep -q 'updates to go.mod needed'; then echo "oracle: its go.mod is behind (cd internal/testkit/oracle && go mod tidy)"; exit 1; \
	  else echo "oracle: its modules are not there (cd internal/testkit/oracle && go mod download); its tests were not run"; [ -z "$(IN_CI)" ] || { echo "$$why"; exit 1; }; fi

check: tools lint cross race fuzz ## what a change should pass before it is sent

lint: ## gofmt, vet, staticcheck, govulncheck where it is there
	@out=$$(gofmt -l cmd doc fleet internal release sdk); if [ -n "$$out" ]; then echo "gofmt wants:"; echo "$$out"; exit 1; fi
	@$(MAKE) --no-print-directory vet staticcheck
	@if ! command -v govulncheck >/dev/null; then echo "govulncheck: not installed, not run"; \
	  elif govulncheck $(PKGS); then :; else rc=$$?; [ $$rc -eq 3 ] && exit 1; echo "govulncheck: its database cannot be reached, not run"; fi

vet: ## go vet
	$(GO) vet $(PKGS)

staticcheck: ## staticcheck, as go.mod names it
	$(GO) tool staticcheck $(PKGS)

cross: ## the systems that are not this one
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...

race: ## all tests with the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 2h $(PKGS)

race-rooms: ## some rooms that share memory between goroutines, with the race detector
	@sh ./.ci/tools gcc:build-essential
	CGO_ENABLED=1 $(GO) test -race -timeout 25m $(ROOMS)

fuzz: ## each fuzz target for a number of inputs: make fuzz [N=1000]
	@GO=$(GO) sh ./.ci/fuzz $(or $(N),1000)

long: tools ## all tests of the packages whose long laws KERF_LONG=1 switches on; two to three hours of a small machine
	KERF_LONG=1 $(GO) run ./internal/testkit/skips -- -timeout 6h -p 1 $(LONG)

web: tools ## the tests of the pages of kerf web, most of them in Chromium
	$(GO) test ./internal/front/web/... ./cmd/kerf/internal/browser/...
	$(GO) run ./internal/testkit/skips -- -timeout 25m -run '^TestWeb' ./cmd/kerf

pictures: ## the pictures of the terminal UI in doc/pictures, drawn anew in tmux and Chromium
	KERF_PICTURES=$(CURDIR)/doc/pictures $(GO) test -count=1 ./cmd/kerf -run TestPicturesOfTheTerminal

bench: ## kerf exec against a scripted server, beside a minimal client; kerf apply beside git
	$(GO) run ./internal/testkit/bench

security: tools ## every security test as a table: id, backend, pass or the reason why not
	@GO=$(GO) sh ./.ci/security

nightly: tools ## other people's bytes: 10,000 random histories, hundreds of kills, two agents and a user; hours
	KERF_LONG=1 KERF_TRUST_HISTORIES=$(or $(N),10000) KERF_TRUST_KILLS=200 KERF_TRUST_STEPS=1000 \
	  $(GO) test -v -timeout 12h ./internal/trust ./internal/work/tries

nightly-witness: tools ## all that the laws of the witness play, and of file tools beside commands; hours
	KERF_LONG=all $(GO) test -v -timeout 12h ./internal/work/witness ./internal/work/sandbox/agree

nightly-kills: tools ## the program killed at every call by which it changes a file, the sandbox's commands a thousand times; hours
	KERF_LONG=all $(GO) test -v -timeout 12h -run 'TestSEC_E[1-3]|Killed|Power|TestIdleRooms' ./cmd/kerf
	KERF_LONG=all $(GO) test -v -timeout 4h -run 'TestSEC_O' ./internal/work/sandbox

fuzz-reads: tools ## generated lines that Kerf says only read, run under strace: make fuzz-reads [N=10000] [SEED=1]
	KERF_READS=$(or $(N),10000) KERF_READS_SEED=$(or $(SEED),1) $(GO) test -v -timeout 6h -run OnlyReads ./internal/agent/executor/usershell

cost: ## what watching commands costs, with trees below /tmp
	KERF_COST=/tmp $(GO) test -v -timeout 1h -run TestCost ./internal/work/witness

mutate: ## small changes of a package's code, and which its tests notice: make mutate ROOM="work/txn work/store" [N=60] [SEED=1]
	$(GO) run ./internal/testkit/mutate -n $(or $(N),60) -seed $(or $(SEED),1) $(addprefix ./internal/,$(ROOM))

# RISKY are the rooms that write, recover, take back or judge, and whose own tests are quick enough.
RISKY := work/txn work/ledger work/ledger/known work/store work/tree work/changes work/witness/enter work/witness/journal \
  work/boundary text/patch text/delta agent/rollout work/sandbox/placeholders work/sandbox/proxy work/sandbox/seccomp \
  work/sandbox/cgroup

mutate-rooms: ## make mutate for each risky room; hours: make mutate-rooms [N=40] [SEED=15]
	nice -n 10 $(GO) run ./internal/testkit/mutate -n $(or $(N),40) -seed $(or $(SEED),15) $(addprefix ./internal/,$(RISKY))

tools: ## programs that the tests use as judges
	@sh ./.ci/tools

release-snapshot: ## archives, packages, formula, checksums, bill of materials and provenance in dist/ [URL=…]
	rm -rf dist
	cd release && $(GO) run . -out ../dist $(if $(URL),-url "$(URL)")

release-check: ## the release twice, byte for byte, the second compiled anew; packages installed, run, removed; another module path; the CI files
	@sh ./.ci/tools dpkg:dpkg rpm:rpm ruby:ruby shellcheck:shellcheck
	cd release && $(GO) vet . && KERF_LONG=1 $(GO) test -count=1 -v -timeout 2h . && $(GO) tool actionlint ../.github/workflows/*.yml
	@sh ./.ci/moved

pure: ## the pure packages' tests; on Windows those that are tried there
	$(GO) test $(if $(filter Windows_NT,$(OS)),$(WINDOWS),$(PURE))

arm64: ## the pure packages' tests under qemu-user
	@command -v qemu-aarch64-static >/dev/null || { echo "make arm64 needs qemu-user-static" >&2; exit 1; }
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec qemu-aarch64-static $(PURE)

wine: ## the pure packages' tests (without those of Unix paths and shells) as programs of Windows under wine; needs wine64 and gcc-mingw-w64-x86-64
	GOOS=windows $(GO) test -exec "$(CURDIR)/.ci/wine" $(WINDOWS)

module: ## gives the module another path: make module PATH_OF=example.org/kerf
	@test -n "$(PATH_OF)" || { echo "usage: make module PATH_OF=example.org/kerf" >&2; exit 2; }
	@sh ./release/module.sh "$(PATH_OF)"
