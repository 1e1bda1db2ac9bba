//go:build nogpu || !linux || !(amd64 || arm64)

package native

import "errors"

// Supported reports whether this build can use CUDA at all.
const Supported = false

// Open returns an error.
func Open(string) (uintptr, error) { return 0, errors.New("not in this build") }

// Symbol returns 0.
func Symbol(uintptr, string) uintptr { return 0 }

// Call panics.
func Call(uintptr, ...uintptr) uintptr { panic("native: not in this build") }

// Pass panics.
func Pass(uintptr, ...any) uintptr { panic("native: not in this build") }

// Thread returns 0.
func Thread() int { return 0 }
