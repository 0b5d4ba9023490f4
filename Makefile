# Fairlead. `make help` lists what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# The PATH of root under sudo has no go; that of a user has no sbin.
export PATH := $(PATH):/usr/local/go/bin:/usr/lib/go/bin:/usr/local/sbin:/usr/sbin:/sbin
# Under sudo, git may refuse to read a user's clone, and go with it.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

VERSION  = $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  = -s -w -X main.version=$(VERSION)
COMPILE  = CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'
LINT     = go tool -modfile=tools/go.mod golangci-lint
ARCHS    = amd64 arm64
FUZZTIME = 10s
# Ends a package of tests that hangs; a slow or busy machine must not come near it.
TIMEOUT  = 60m
# Arguments for unit, conformance, vmtest and bench: make vmtest ARGS='-v -run=TestVeth ./kernel'
ARGS     =

# What the caller's shell sets for his node, or for a container, is not for the tests.
unexport $(filter-out FAIRLEAD_VM_KERNEL FAIRLEAD_VM_CACHE FAIRLEAD_RACE_ROUNDS FAIRLEAD_UPDATE_GOLDEN FAIRLEAD_CONFORMANCE_DIR, \
	$(filter FAIRLEAD_% CNI_%,$(.VARIABLES)))

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

.PHONY: build
build: ## static binaries in bin/
	$(COMPILE) -o bin/ ./cmd/...

.PHONY: cross
cross: ## binaries for every architecture, in bin/linux-ARCH/
	for arch in $(ARCHS); do GOARCH=$$arch $(COMPILE) -o bin/linux-$$arch/ ./cmd/...; done

.PHONY: demo
demo: build ## two containers on a bridge: made, checked, removed (as root)
	bin/fairlead demo

.PHONY: test
test: root deps ## the whole ladder (as root; installs what it needs)
	test/ladder fmt tidy build cross lint unit conformance campaign-short vmtest

.PHONY: deps
deps: ## install the Debian packages that the tests need
	test/install-deps

.PHONY: root
root:
	@[ $$(id -u) = 0 ] || { echo 'The tests make network namespaces: run them as root (sudo make test).' >&2; exit 1; }

.PHONY: specs
specs: root build ## the reference plugins' own specs, black box (not part of test): make specs ARGS='host-local'
	go run ./test/specs $(ARGS)

.PHONY: fmt
fmt: ## fail on files that gofmt would change
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null | xargs -r gofmt -l); \
	[ -z "$$files" ] || { echo "gofmt -w would change:"; echo "$$files"; exit 1; }

.PHONY: vet
vet: ## go vet
	go vet -tags 'vmtest vmhost' ./...

.PHONY: tidy
tidy: ## fail when go mod tidy would change something
	go mod tidy -diff

.PHONY: lint
lint: ## golangci-lint, as .golangci.yml says
	$(LINT) run ./...

.PHONY: unit
unit: ## all tests but the conformance suite, with the race detector (as root)
	packages=$$(go list ./... | grep -v '/test/conformance$$'); \
	go test -race -timeout $(TIMEOUT) $(ARGS) $$packages

.PHONY: conformance
conformance: ## the conformance suite and its table (as root)
	cd test/conformance && go test -race -count=1 -timeout $(TIMEOUT) $(ARGS)

# Suites that call finished binaries find them here: the guest should not build.
GUEST     = $(CURDIR)/bin/guest
REFERENCE = $(shell sed -n 's/.*ReferenceVersion = "\(.*\)"/\1/p' test/host/build.go)
vmtest vmtest-ipv4: export FAIRLEAD_TEST_PLUGINS = $(GUEST)/plugins
vmtest vmtest-ipv4: export FAIRLEAD_TEST_RECORDER = $(GUEST)/recorder
vmtest vmtest-ipv4: export FAIRLEAD_TEST_REFERENCE = $(GUEST)/reference-$(REFERENCE)

.PHONY: guest
guest: build
	bin/fairlead install --link --to $(GUEST)/plugins
	CGO_ENABLED=0 go build -trimpath -o $(GUEST)/recorder/recorder ./test/host/testdata/recorder
	[ -d $(GUEST)/reference-$(REFERENCE) ] || { \
		CGO_ENABLED=0 GOBIN=$(GUEST)/new go install github.com/containernetworking/plugins/plugins/...@$(REFERENCE); \
		mv $(GUEST)/new $(GUEST)/reference-$(REFERENCE); }

.PHONY: vmtest
vmtest: guest ## the integration tests on Debian's kernel, in a virtual machine
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/vm ./test/vm
ifeq ($(ARGS),)
	go test -tags vmhost -timeout $(TIMEOUT) -run '^TestVM$$' ./test/vm
endif
	bin/vm test $(ARGS)

.PHONY: vmtest-ipv4
vmtest-ipv4: guest ## what needs no IPv6, on a kernel without it, in a virtual machine
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/vm ./test/vm
	FAIRLEAD_VM_APPEND=ipv6.disable=1 bin/vm test -run=Case32 ./kernel ./test/chains

.PHONY: race
race: ## teardowns raced 200 times, one beside the reference plugins, in the virtual machine
	FAIRLEAD_RACE_ROUNDS=40 $(MAKE) vmtest ARGS='-v -timeout=60m ./test/race'
	FAIRLEAD_RACE_ROUNDS=100 $(MAKE) vmtest ARGS='-v -timeout=60m -run=TestLastDELRacesADD ./test/vpc'

# Each network in test/campaign is a campaign; those in vm/ need its kernel.
NETWORKS  = $(wildcard test/campaign/*.conf*)
CAMPAIGN  = bin/campaign

.PHONY: campaign-short
campaign-short: build ## a sample of the campaigns below (as root)
	bin/fairlead install --link --to bin/plugins
	bin/fairlead-lab run $(NETWORKS) --plugins bin/plugins --out $(CAMPAIGN)/short --short --cells 90 $(ARGS)

.PHONY: campaign
campaign: build ## break every plugin at every system call, in every way: hours (as root)
	bin/fairlead install --link --to bin/plugins
	bin/fairlead-lab run $(NETWORKS) --plugins bin/plugins --out $(CAMPAIGN)/full $(ARGS)
	$(MAKE) campaign-vm

.PHONY: campaign-vm
campaign-vm: build ## those of them that need the virtual machine's kernel
	bin/fairlead install --link --to bin/plugins
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/vm ./test/vm
	mkdir -p $(CAMPAIGN)/vm
	bin/vm run -timeout 12h test/campaign/vm/run $(ARGS) | tar -C $(CAMPAIGN)/vm -x

.PHONY: bench
bench: build ## Fairlead beside the reference plugins and the floor (as root)
	bin/fairlead-lab bench $(ARGS)

.PHONY: mutants
mutants: ## break the code in one place at a time; the tests must notice (as root)
	go run ./test/mutants $(ARGS)

.PHONY: cover
cover: ## coverage of all packages by all tests, in coverage.html (as root)
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -1
	go tool cover -html=coverage.out -o coverage.html

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s)
	for file in $$(git grep -lE '^func Fuzz' -- '*_test.go'); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$file); do \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) ./$$(dirname $$file); \
		done; \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin coverage.out coverage.html
