# `make help` lists what there is. Go, and npm where a front end is to be built, are all
# that has to be installed.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

export CGO_ENABLED := 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Front ends: folders of web with a lock file, but for the browser tests. Without npm the
# binary is built without them, and says so when it starts.
NPM        := $(shell command -v npm)
FRONT_ENDS := $(if $(NPM),$(patsubst web/%/package-lock.json,%,$(filter-out web/e2e/%,$(wildcard web/*/package-lock.json))))
TAGS       := $(if $(FRONT_ENDS),,noui)

GOBUILD := go build -buildvcs=false -trimpath
TOOL    := go tool -modfile=tools/go.mod
# Tests and checks of Go code need no built pages.
NOUI    := -tags noui
SOURCES  = $(shell find . -name '*.go' -not -path '*/node_modules/*' -not -path '*/.*')

# Where goroutines share memory. Under the race detector the timeout module itself is too slow for its own tests of
# lateness; its wheel is not.
RACY := $(addprefix ./,timeout/wheel api/notify router $(addprefix service/,account callback changelog content coupon event inventory notice order replica store wechat))
BENCHES := $(addsuffix /...,$(addprefix ./,$(wildcard timeout service/order)))

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build what is missing and serve the embedded shop on http://127.0.0.1:8080
	@exec bin/tidemall serve

.PHONY: build
build: front-ends ## bin/tidemall, front ends embedded
	$(GOBUILD) -tags '$(TAGS)' -ldflags '-s -w -X main.version=$(VERSION)' -o bin/tidemall .

.PHONY: test
test: test-web test-go ## every test, on embedded parts and on real servers where they are installed

.PHONY: test-go
test-go: bin/withservers bin/testreport ## the Go tests alone; PKG=./timeout/... for a part of them
	@bin/withservers -- bash -c 'go test -json $(NOUI) -timeout 20m $(TESTFLAGS) $(or $(PKG),./...) | bin/testreport'
	@go -C tools test ./testreport

.PHONY: test-web
test-web: $(FRONT_ENDS:%=test-web-%) ## the front ends' own tests

.PHONY: test-race
test-race: bin/withservers bin/testreport ## the concurrent packages under the race detector (needs gcc)
	@CGO_ENABLED=1 bin/withservers -- bash -c 'go test -json -race $(NOUI) -timeout 30m $(TESTFLAGS) $(or $(PKG),$(RACY)) | bin/testreport'

.PHONY: e2e
e2e: build bin/withservers ## the browser tests, in a real Chromium; E2E=../admin/e2e/orders.test.js for one file
	@cd web/e2e && npm ci --no-audit --no-fund --loglevel=error && node --test $(or $(E2E),*.test.js ../admin/e2e/*.test.js)
	@if command -v mariadb redis-server >/dev/null; then cd web/e2e && E2E_ON=servers ../../bin/withservers -redis -- node --test $(or $(E2E),../admin/e2e/*.test.js); \
	else echo "skipped: the panel's browser tests on MySQL and Redis: mariadb or redis-server is not installed"; fi

.PHONY: bench
bench: bench-own $(if $(BENCH)$(PKG),,bench-peers) ## the benchmarks; BENCH=regexp and COUNT=n for benchstat

.PHONY: bench-own
bench-own: bin/withservers
	@bin/withservers -redis -- go test $(NOUI) -run '^$$' -bench '$(or $(BENCH),.)' -benchmem \
		-benchtime $(or $(BENCHTIME),1s) -count $(or $(COUNT),1) -timeout 60m $(or $(PKG),$(BENCHES))

.PHONY: bench-peers
bench-peers: bin/withservers ## the timeout module against what else could be used, as a table of ratios
	@bin/withservers -redis -- go -C timeout/bench test -v -count 1 -timeout 60m $(TESTFLAGS) .

.PHONY: check
check: check-format check-vet check-lint check-modules check-generated check-compose check-web ## formatting, vet, linters, generated files up to date

.PHONY: check-format
check-format:
	@out=$$($(TOOL) gofumpt -l $(SOURCES)); \
	if [ -n "$$out" ]; then echo "not formatted (make fmt):"; echo "$$out"; exit 1; fi

.PHONY: check-vet
check-vet:
	@go vet $(NOUI) ./...
	@go -C tools vet ./testreport
	@go -C timeout/bench vet ./...

.PHONY: check-lint
check-lint:
	@$(TOOL) golangci-lint run

.PHONY: check-modules
check-modules:
	@go mod verify
	@cd tools && go mod verify
	@cd timeout/bench && go mod verify

# Compares the tree before and after, so that it works with uncommitted work in it.
.PHONY: check-generated
check-generated:
	@state() { git status --porcelain; git diff; }; \
	if ! git rev-parse --git-dir >/dev/null 2>&1; then echo "not a git work tree: generated files not compared"; exit 0; fi; \
	before=$$(state); $(MAKE) generate; after=$$(state); \
	if [ "$$before" != "$$after" ]; then \
		echo "generated files were out of date, and are not any more; commit them:"; \
		diff <(echo "$$before") <(echo "$$after") || true; exit 1; \
	fi

.PHONY: check-compose
check-compose:
	@if command -v docker-compose >/dev/null; then docker-compose -f docker-compose.yml config -q; \
	elif docker compose version >/dev/null 2>&1; then docker compose -f docker-compose.yml config -q; \
	else echo "no docker-compose: docker-compose.yml not checked"; fi

.PHONY: check-web
check-web: $(FRONT_ENDS:%=check-web-%) ## types, linters and formatting of the front ends

.PHONY: fmt
fmt: $(FRONT_ENDS:%=web/%/node_modules/.installed) ## format the code
	@$(TOOL) gofumpt -w $(SOURCES)
	@for f in $(FRONT_ENDS); do npm --prefix web/$$f run -s format; done

.PHONY: generate
generate: ## files made from the code
	@go generate $(NOUI) ./...
	@go test ./config -run TestDocument -update >/dev/null

.PHONY: clean
clean: ## remove what was built; the data directory stays
	rm -rf bin $(FRONT_ENDS:%=web/%/node_modules) $(FRONT_ENDS:%=web/%/dist)

# --- front ends -------------------------------------------------------------------

.PHONY: front-ends
front-ends: $(FRONT_ENDS:%=bin/.built-%)

# Their types come from the server's own description of its API.
.PHONY: types
types: web/admin/src/api/schema.d.ts ## the front ends' types, from the API's description

bin/openapi.json: $(if $(NPM),$(shell find api router model service main.go -name '*.go' -not -name '*_test.go'))
	@mkdir -p bin
	go run -buildvcs=false $(NOUI) . openapi >$@.new
	@if cmp -s $@.new $@; then rm $@.new && touch $@; else mv $@.new $@; fi

web/admin/src/api/schema.d.ts: bin/openapi.json web/admin/node_modules/.installed
	cd web/admin && npm run -s types
	@touch $@

# npm is asked again only after the lock file changed, and the build only after a source did.
web/%/node_modules/.installed: web/%/package-lock.json
	cd web/$* && npm ci --no-audit --no-fund --loglevel=error
	@mkdir -p $(@D) && touch $@

define front_end
bin/.built-$(1): web/$(1)/node_modules/.installed web/admin/src/api/schema.d.ts $$(shell find web/$(1) -type f -not -path '*/node_modules/*' -not -path '*/dist/*' -not -path '*/e2e/*')
	cd web/$(1) && npm run build
	@mkdir -p bin && touch $$@

.PHONY: test-web-$(1)
test-web-$(1): web/$(1)/node_modules/.installed web/admin/src/api/schema.d.ts
	cd web/$(1) && npm test --if-present
.PHONY: check-web-$(1)
check-web-$(1): web/$(1)/node_modules/.installed web/admin/src/api/schema.d.ts
	cd web/$(1) && npm run -s check
endef
$(foreach f,$(FRONT_ENDS),$(eval $(call front_end,$(f))))

# --- helpers ----------------------------------------------------------------------

# Go knows best whether these are out of date.
.PHONY: bin/withservers bin/testreport
bin/withservers:
	@$(GOBUILD) -o $@ ./timeout/testserver/cmd/withservers
bin/testreport:
	@go -C tools build -buildvcs=false -trimpath -o ../$@ ./testreport
