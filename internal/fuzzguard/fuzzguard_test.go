package fuzzguard

import (
	"testing"
	"time"
)

// failures counts findings.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.n++ }

var sink []byte

func TestRun(t *testing.T) {
	for what, c := range map[string]struct {
		do   func()
		want int
	}{
		"little":    {func() { sink = make([]byte, 1<<20) }, 0},
		"memory":    {func() { sink = make([]byte, MaxBytes+1<<20) }, 1},
		"time":      {func() { time.Sleep(200 * time.Millisecond) }, 1},
		"slow once": {slowOnce(), 0},
	} {
		f := &failures{TB: t}
		if within(f, c.do, 100*time.Millisecond); f.n != c.want {
			t.Errorf("%s: %d failures, want %d", what, f.n, c.want)
		}
	}
	sink = nil
}

func slowOnce() func() {
	calls := 0
	return func() {
		if calls++; calls == 1 {
			time.Sleep(200 * time.Millisecond)
		}
	}
}
