// Package fuzzguard bounds the time and memory of a fuzz input: a parser that takes seconds or
// gigabytes for a few bytes is as broken as one that panics.
package fuzzguard

import (
	"runtime/metrics"
	"testing"
	"time"
)

// Limits for one input.
const (
	MaxBytes = 256 << 20
	MaxTime  = 2 * time.Second
)

const allocated = "/gc/heap/allocs:bytes"

// Run calls f and fails the target if f allocates more than [MaxBytes] in total or
// takes longer than [MaxTime]. It calls f again if the first call took too long,
// because the machine may be busy; f must allow a second call.
func Run(t testing.TB, f func()) {
	t.Helper()
	within(t, f, MaxTime)
}

func within(t testing.TB, f func(), limit time.Duration) {
	t.Helper()
	bytes, took := cost(f)
	if took > limit {
		bytes, took = cost(f)
	}
	switch {
	case bytes > MaxBytes:
		t.Errorf("%d MiB allocated for one input", bytes>>20)
	case took > limit:
		t.Errorf("%v for one input, twice", took)
	}
}

// cost returns the bytes that f allocates, in all goroutines, and the time it takes.
func cost(f func()) (bytes uint64, took time.Duration) {
	before, begin := total(), time.Now()
	f()
	return total() - before, time.Since(begin)
}

func total() uint64 {
	s := []metrics.Sample{{Name: allocated}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
