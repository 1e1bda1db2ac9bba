//go:build cu

package driver_test

// cuTag says which implementation is under test.
const cuTag = true
