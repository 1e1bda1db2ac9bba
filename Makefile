# gpfit builds with the go command alone: go build ./cmd/gpfit. This file is for
# the other builds.
#
#   make gpfit-cu              builds gpfit-cu, which uses the GPU through gorgonia.org/cu
#                              (cgo, tag cu)
#   make gpfit-cu CUDA=13      does the same with the headers of CUDA 13
#   make gpfit-static          builds gpfit-static without GPU code and libc (tag nogpu)
#   make test-cu               vets the CUDA packages with the tag cu and runs the long
#                              forms of their tests
#   make test-cuda             does the same without the tag
#   make bindings              checks the CUDA calls against NVIDIA's headers and
#                              libraries; fetches 3 GB
#   make assemble              assembles the PTX with the oldest and the newest ptxas;
#                              fetches 70 MB; KERNELS="'rq*linear' periodic" chooses kernels
#   make fuzz FUZZTIME=1m      runs every fuzz target for a minute, one after the other
#   make fuzz-share            runs four fuzz targets for a minute, different ones each
#                              day, as CI does
#   make fuzz-short            runs every fuzz target for two seconds
#   make changelog             prints the entries of changelog/unreleased as a section
#   make release               builds the archives of a release with checksums and bills of
#                              materials in dist; TARGETS=linux/amd64 chooses platforms
#   make publish              builds and checks all files of a release, and prints what goes
#                              where; uploads nothing; TARGETS as above
#   make release-check         checks the files in dist and runs the programs
#   make image                 builds a container image from the files in dist, with buildah,
#                              and runs it
#   make sbom                  builds gpfit and its bill of materials, gpfit.cdx.json
#   make wheel                 builds the Python package with the program in it, in
#                              python/dist; TARGET=musl/amd64 chooses another platform
#   make wheels                builds and checks the wheels of all platforms in dist/wheels;
#                              TARGETS='linux/amd64 musl/amd64' chooses some
#   make site                  builds the web site of the documentation in site/html
#   make module MODULE=host/owner/gpfit
#                              renames the module, for a fork or a host
#   make proxy VERSION=v0.1.0 FOLDER=/path
#                              packs the module into a folder that is a module proxy
#   make reliability-fuzz      runs every fuzz target for ten minutes
#   make reliability-soak      evaluates for ten minutes without growth, and runs many
#                              fits at once
#   make reliability-supply    checks licences, bill of materials, repeated builds, absence
#                              of a network, umask and the samples of releases
#   make reliability           runs the campaigns of docs/reliability.md within an hour
#                              on two cores; RELIABILITY='input soak' chooses parts
#
# make fetches the headers with pip; with GPFIT_CUDA_INCLUDE=/usr/local/cuda/include it
# uses a toolkit's headers. Neither build needs a GPU, a driver or a toolkit.

CUDA ?= 12
GO ?= go
# PACKAGES are the packages that test-cu tests.
PACKAGES ?= ./device/cuda/...
CUDA_CFLAGS = $(or $(shell device/cuda/driver/headers.sh $(CUDA)),$(error no headers of CUDA $(CUDA)))

.PHONY: changelog gpfit-cu gpfit-static test-cu test-cuda bindings assemble fuzz fuzz-share fuzz-short sbom reliability-fuzz reliability-soak reliability-supply reliability-input

FUZZTIME ?= 1m
# FUZZPACKAGES=./kernel limits fuzz and fuzz-short to a package.
FUZZPACKAGES ?=
SOAK ?= 10m
# LONG= leaves out the long forms of the tests on the emulated GPU.
LONG ?= 1

gpfit-cu:
	CGO_ENABLED=1 CGO_CFLAGS="$(CUDA_CFLAGS)" $(GO) build -tags cu -o gpfit-cu ./cmd/gpfit

gpfit-static:
	CGO_ENABLED=0 $(GO) build -tags nogpu -o gpfit-static ./cmd/gpfit

test-cu:
	CGO_ENABLED=1 CGO_CFLAGS="$(CUDA_CFLAGS)" $(GO) vet -tags cu ./device/cuda/...
	CGO_ENABLED=1 CGO_CFLAGS="$(CUDA_CFLAGS)" GPFIT_EMU_REQUIRED=1 GPFIT_LONG=$(LONG) $(GO) test -tags cu $(PACKAGES)

test-cuda:
	$(GO) vet ./device/cuda/...
	GPFIT_EMU_REQUIRED=1 GPFIT_LONG=1 $(GO) test ./device/cuda/...
	CGO_ENABLED=0 GPFIT_EMU_REQUIRED=1 $(GO) test ./device/cuda/driver/... ./device/cuda/mathlib/...

bindings:
	tools/bindings/check.sh

assemble:
	tools/bindings/assemble.sh $(KERNELS)

fuzz:
	.ci/fuzz $(FUZZTIME) $(FUZZPACKAGES)

fuzz-share:
	GPFIT_FUZZ_JOBS=2 GPFIT_FUZZ_PARALLEL=1 .ci/fuzz --share 4 $(FUZZTIME)

fuzz-short:
	.ci/fuzz 2s $(FUZZPACKAGES)

changelog:
	@.ci/changelog

sbom:
	CGO_ENABLED=0 $(GO) build -trimpath -o gpfit ./cmd/gpfit
	.ci/bill gpfit v$$(.ci/release-version) gpfit.cdx.json

# TARGETS is a list with commas.
TARGETS ?=
comma := ,
.PHONY: release release-check image publish
release:
	.ci/make-release $(subst $(comma), ,$(TARGETS))

release-check:
	.ci/check-release

publish:
	.ci/publish --dry-run $(subst $(comma), ,$(TARGETS))

image:
	GPFIT_IMAGE_REQUIRED=1 .ci/image cpu

# python/hatch_build.py lists the targets.
TARGET ?=
PYTHON ?= python3
.PHONY: wheel
wheel:
	PYGPFIT_TARGET=$(TARGET) $(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir python/dist ./python

.PHONY: wheels
wheels:
	@.ci/wheels $(TARGETS)

.PHONY: site
site:
	@.ci/site

.PHONY: module
module:
	@.ci/rename-module "$(MODULE)"

.PHONY: proxy
proxy:
	@$(GO) run -C tools ./moduleproxy "$(VERSION)" "$(abspath $(FOLDER))"

reliability-fuzz:
	.ci/fuzz 10m

reliability-soak:
	GPFIT_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 ./fit -run 'TestSoak|TestManyFits' -v
	$(GO) test -count=1 -race ./fit -run 'TestManyFits|TestSoak' -short

reliability-supply:
	.ci/licences
	$(MAKE) --no-print-directory sbom
	GPFIT_BILL=$(CURDIR)/gpfit.cdx.json $(GO) -C tools test -count=1 ./release
	$(GO) test -count=1 ./cmd/gpfit -run 'TestOffline|TestUmask|TestNamesInPages|TestReleased|TestReleases' -v
	.ci/reproducible

reliability-input:
	$(GO) test -count=1 ./cmd/gpfit -run 'TestBadInput|TestExitCodes|TestScript/(outputs|limits|longtexts|signals|errors)'
	$(GO) test -count=1 ./gp ./hyperopt/journal -run 'TestDamage|TestLoad'
	$(GO) test -count=1 ./internal/atomicfile ./internal/hostmem ./internal/textform
	$(GO) test -count=1 ./table ./table/formats/internal/parquet -run 'TestMaxRows|TestManyColumns|Claim'
	$(GO) test -count=1 ./fit -run 'TestWildScales|TestCheckFinite|TestConditionWarning'

# make reliability runs these parts, two at a time, within an hour on two cores and prints a
# table of their results and seconds. docs/reliability.md describes each part and its figures.
RELIABILITY ?= memory mutations soak repair orphans supply fuzz-halfminute faults clock numerics crashes input determinism
.PHONY: reliability reliability-mutations reliability-numerics reliability-determinism reliability-crashes reliability-faults reliability-orphans reliability-repair reliability-memory reliability-clock reliability-fuzz-halfminute

reliability:
	@benchmarks/reliability/parts.sh $(RELIABILITY)

reliability-numerics:
	GPFIT_LONG=1 $(GO) -C benchmarks test -count=1 -v -timeout 20m -run 'Numerics|200Bits' ./reliability

reliability-determinism:
	GPFIT_LONG=1 $(GO) -C benchmarks test -count=1 -v -timeout 20m -run 'Same|Variants|GPU' ./reliability

reliability-crashes:
	GPFIT_LONG=1 $(GO) test -count=1 -v -timeout 30m -run 'Kill|Crash|InUse|BatchSignal|Pipe' ./cmd/gpfit

reliability-orphans:
	GPFIT_LONG=1 $(GO) test -count=1 -v -run 'TestParent|TestFollow' ./cmd/gpfit ./cmd/gpfit/internal/parentwatch
	.ci/python kills

reliability-repair:
	GPFIT_LONG=1 $(GO) test -count=1 -v -timeout 60m -run 'TestEdits|TestCheck$$' ./gp
	GPFIT_LONG=1 $(GO) test -count=1 -v -timeout 60m -run 'TestDamagedRun|TestEditedModels' ./cmd/gpfit

reliability-mutations:
	GPFIT_LONG=1 $(GO) -C benchmarks test -count=1 -v -timeout 60m -run Mutations ./reliability

reliability-memory:
	GPFIT_LONG=1 $(GO) test -count=1 -v -timeout 60m -run TestMemoryPlan ./cmd/gpfit

reliability-faults:
	GPFIT_LONG=1 $(GO) test -count=1 -v -timeout 60m -run TestFaults ./cmd/gpfit

reliability-clock:
	benchmarks/reliability/clock.sh

reliability-fuzz-halfminute:
	GPFIT_FUZZ_JOBS=2 GPFIT_FUZZ_PARALLEL=1 .ci/fuzz 30s
