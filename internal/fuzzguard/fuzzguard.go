// Package fuzzguard bounds what one input may cost in a fuzz target: a parser that
// takes seconds or gigabytes for a few bytes is as broken as one that panics.
package fuzzguard

import (
	"runtime/metrics"
	"testing"
	"time"
)

// What one input may take.
const (
	MaxBytes = 256 << 20
	MaxTime  = 2 * time.Second
)

const allocated = "/gc/heap/allocs:bytes"

// Run calls f and fails the target if that allocates more than [MaxBytes] in all, or
// takes more than [MaxTime]. An input that took too long is tried a second time,
// since a busy machine is no finding: f must be such that it can be.
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

// cost is what f allocates, by all goroutines, and how long it takes.
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
