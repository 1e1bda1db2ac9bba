//go:build nogpu || !linux || !(amd64 || arm64)

package mathlib

import "errors"

// This build has no GPU code. Load fails before any of these functions is called.

func call(uintptr, ...uintptr) int { panic("mathlib: not in this build") }

func openLibrary(string) (uintptr, error) { return 0, errors.New("not in this build") }

func symbol(uintptr, string) uintptr { return 0 }
