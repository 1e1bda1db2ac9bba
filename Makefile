# gpfit builds with the go command alone: go build ./cmd/gpfit. This file is for
# the other builds.
#
#   make gpfit-cu              the GPU through gorgonia.org/cu (cgo, tag cu)
#   make gpfit-cu CUDA=13      the same with the headers of CUDA 13
#   make gpfit-static          no GPU code, no libc (tag nogpu)
#   make test-cu               vet and tests of the CUDA packages with the tag cu
#   make test-cuda             the same without it
#   make reliability           the campaigns of docs/reliability.md
#
# The headers are fetched with pip; GPFIT_CUDA_INCLUDE=/usr/local/cuda/include
# uses those of a toolkit. Neither build needs a GPU, a driver or a toolkit.

CUDA ?= 12
GO ?= go
# PACKAGES narrows test-cu.
PACKAGES ?= ./device/cuda/...
CUDA_CFLAGS = $(or $(shell device/cuda/driver/headers.sh $(CUDA)),$(error no headers of CUDA $(CUDA)))

.PHONY: gpfit-cu gpfit-static test-cu test-cuda reliability

gpfit-cu:
	CGO_ENABLED=1 CGO_CFLAGS="$(CUDA_CFLAGS)" $(GO) build -tags cu -o gpfit-cu ./cmd/gpfit

gpfit-static:
	CGO_ENABLED=0 $(GO) build -tags nogpu -o gpfit-static ./cmd/gpfit

test-cu:
	CGO_ENABLED=1 CGO_CFLAGS="$(CUDA_CFLAGS)" $(GO) vet -tags cu ./device/cuda/...
	CGO_ENABLED=1 CGO_CFLAGS="$(CUDA_CFLAGS)" GPFIT_EMU_REQUIRED=1 $(GO) test -tags cu $(PACKAGES)

test-cuda:
	$(GO) vet ./device/cuda/...
	GPFIT_EMU_REQUIRED=1 $(GO) test ./device/cuda/...
	CGO_ENABLED=0 GPFIT_EMU_REQUIRED=1 $(GO) test ./device/cuda/driver/... ./device/cuda/mathlib/...

reliability:
	$(GO) test -count=1 ./cmd/gpfit -run 'TestBadInput|TestExitCodes|TestScript/(outputs|limits|longtexts|signals|errors)'
	$(GO) test -count=1 ./gp ./hyperopt/journal -run 'TestDamage|TestLoad'
	$(GO) test -count=1 ./internal/atomicfile ./internal/hostmem ./internal/textform
	$(GO) test -count=1 ./internal/table -run 'TestMaxRows|TestManyColumns|Claim'
	$(GO) test -count=1 ./fit -run 'TestWildScales|TestCheckFinite|TestConditionWarning'
