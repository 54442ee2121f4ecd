# Targets are verbs; `make help` lists them.
GO       ?= go
GO_TEST  ?= $(GO) test
BINARIES := bflow bflow-controller provision smoketest load-gen collect mlflow-push sim-engine
BIN      ?= bin
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X bflow.dev/bflow/tasks/step.Version=$(VERSION)
E2E_ROWS ?= -short
E2E_LAST := '^TestRights' # they read what the others have done
TOOL     := $(GO) tool -modfile=internal/tools/go.mod
SOAK_FOR ?= 1h
RACE     ?= $(shell $(GO) run ./internal/ci race)
WITHOUT  ?=

# One set of build flags: what one target has compiled, no other compiles again.
export CGO_ENABLED := 0
export GOFLAGS     ?= -trimpath

.DEFAULT_GOAL := help
.PHONY: help build images test race lint verify generate demo docs-picture bench bench-peers soak e2e-mlflow e2e e2e-full e2e-runs e2e-rights e2e-soak e2e-soaking kind bench-cluster bench-queue bench-validity ci-table ci-prove clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build every binary into BIN (bin)
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ $(BINARIES:%=./cmd/%)

images: build ## build the images of every program into bflow-images/, for linux/amd64 and linux/arm64
	bin/bflow images build

test: ## run the unit tests; WITHOUT='PACKAGES' leaves some out
	$(GO_TEST) -timeout 40m $(if $(WITHOUT),$$($(GO) list ./... | grep -vxF "$$($(GO) list $(WITHOUT))"),./...)

race: ## test the concurrent packages under the race detector; RACE='PACKAGES' runs others
	CGO_ENABLED=1 $(GO_TEST) -race -timeout 40m $(RACE)

# The linter trades memory, which is there, for processor time.
lint: ## gofmt and the pinned linters, go vet among them, of Go and of workflows
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'run gofmt -w on these'; exit 1; }
	GOGC=400 GOMEMLIMIT=8GiB $(TOOL) golangci-lint run --allow-serial-runners ./...
	$(TOOL) actionlint -shellcheck= -pyflakes=

generate: ## rewrite the generated files
	$(GO) generate ./...

verify: generate ## fail when a generated file or go.mod is not up to date
	$(GO) mod tidy -diff
	git diff --exit-code

demo: build ## run the shipped demo on this machine, about a minute
	bin/bflow run --local examples/demo.yaml

docs-picture: build ## run the demo and take a picture of its report for the README, with Chromium on an idle machine
	internal/docgen/picture docs/images/report.png

bench: ## print the benchmark figures, those of exports and imports, and the goals of load-gen, on an idle machine; GOALS='-goal G5,G7 -repeats 1' measures some
	$(GO) test -p 1 -run '^$$' -bench . -timeout 40m ./generator/... ./sim/... ./tasks/loadgen/...
	$(GO) run ./bench/files $(FILES)
	$(GO) run ./bench/goals $(GOALS)

bench-peers: ## compare load-gen with GuideLLM, AIPerf and inference-perf from PyPI, about 15 minutes; BFLOW_PEERS=DIR keeps their environments
	$(GO) run ./bench/peers $(PEERS)

bench-validity: ## compare load-gen's judgement of its own numbers with the packets on the wire, as root, about 100 minutes; VALIDITY='-results FILE' continues
	$(GO) run ./bench/validity $(VALIDITY)

soak: ## 24 hours of load in miniature, seven minutes; SOAK='-requests 200000' is the short one
	$(GO) run ./bench/soak $(SOAK)

e2e-mlflow: build ## push to a real MLflow server (needs MLFLOW_PYTHON, a python with mlflow)
	$(GO_TEST) -count 1 -timeout 60m -tags e2e ./e2e/mlflow/...

e2e: build ## try bflow on the cluster of KUBECONFIG, a row per class of fault (docs/e2e.md); E2E='-run NAME' tries some
	@set -e; vars="$$(e2e/cluster/prepare)"; eval "$$vars"; $(MAKE) e2e-runs e2e-rights

e2e-full: build ## the same with every row, and ten minutes of the soak
	@set -e; vars="$$(e2e/cluster/prepare)"; eval "$$vars"; $(MAKE) e2e-runs e2e-rights E2E_ROWS=; $(MAKE) e2e-soaking SOAK_FOR=10m

e2e-soak: build ## random runs and faults on the clusters of make e2e for SOAK_FOR (1h), judged by what watches see; BFLOW_SOAK_SEED replays
	@set -e; vars="$$(e2e/cluster/prepare)"; eval "$$vars"; $(MAKE) e2e-soaking

e2e-runs: # the tests alone, where the variables of docs/e2e.md are set; they themselves wait for their turns, not go test
	$(GO_TEST) -v -count 1 -timeout 120m -tags e2e -parallel 100 $(E2E_ROWS) -skip $(E2E_LAST) $(E2E) ./e2e/cluster

e2e-rights: # what reads what the others have done
	$(GO_TEST) -v -count 1 -timeout 20m -tags e2e -run $(E2E_LAST) ./e2e/cluster

e2e-soaking: # the soak alone, where the variables of docs/e2e.md are set; its end takes as long as its runs
	BFLOW_SOAK_FOR=$(SOAK_FOR) $(GO_TEST) -v -count 1 -timeout 0 -tags e2e -parallel 100 -run '^TestSoak$$' ./e2e/cluster

kind: ## start a kind cluster with a registry for make e2e (needs Docker and kind)
	e2e/cluster/kind

bench-cluster: build ## what a run costs on the cluster of KUBECONFIG beside its load, against a hand-written Pipeline
	@set -e; vars="$$(e2e/cluster/prepare)"; eval "$$vars"; $(GO) run ./bench/cluster $(CLUSTER)

bench-queue: build ## how fast thousands of runs over 20 targets are admitted on the cluster of KUBECONFIG, against Jobs; BFLOW_E2E_WORKER_KUBECONFIG is cut into targets
	cd internal/tools/kwok && $(GO) build -o ../../../bin/kwok sigs.k8s.io/kwok/cmd/kwok
	@set -e; vars="$$(e2e/cluster/prepare)"; eval "$$vars"; $(GO) run ./bench/queue $(QUEUE)

ci-table: ## compare the times of two runs of the checks: BEFORE=FILE AFTER=FILE, as CI_TIMES has kept them
	@$(GO) run ./internal/ci compare $(BEFORE) $(AFTER)

ci-prove: ## break 30 packages drawn by SEED, one at a time in a scratch copy, and tell which of the chosen tests finds each
	@$(GO) run ./internal/ci prove $(or $(SEED),1) 30

clean: ## remove what build made
	rm -rf bin
