//go:build !linux

// Package guardedmem allocates memory between inaccessible pages, for tests of routines in assembly.
package guardedmem

import "testing"

// Ends is empty: there is no such memory here.
var Ends []bool

// Numbers is not called.
func Numbers(testing.TB, bool) (allocate func(n int) []float64, free func()) { return nil, nil }
