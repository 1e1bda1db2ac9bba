//go:build nogpu || !linux || !(amd64 || arm64)

package emulator

import "testing"

// This build cannot load the emulated device. Main runs the tests without it and Need
// skips tests.

const none = "emulator: not in this build"

// Inject skips the test.
func Inject(t testing.TB, entry string, k, code int) {
	t.Helper()
	Need(t)
}

// Check skips the test.
func Check(t testing.TB) {
	t.Helper()
	Need(t)
}

// Spoil skips the test.
func Spoil(t testing.TB, entry string, from int, how Spoiling) {
	t.Helper()
	Need(t)
}

// Record skips the test.
func Record(t testing.TB, f func()) []Call {
	t.Helper()
	Need(t)
	return nil
}

// Reset panics, as do all functions below. Tests call them only after Need.
func Reset() { panic(none) }

// Calls panics.
func Calls(entry string) int { panic(none) }

// Used panics.
func Used(device int) int64 { panic(none) }

// SetMemory panics.
func SetMemory(device int, bytes int64) { panic(none) }

// Threads panics.
func Threads(device int) int { panic(none) }

// Retained panics.
func Retained(device int) int { panic(none) }

// Blocks panics.
func Blocks() int { panic(none) }

// Handles panics.
func Handles() int { panic(none) }

// Violations panics.
func Violations() int { panic(none) }

const buildable = false
