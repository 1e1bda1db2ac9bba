//go:build cu

package driver_test

// cuTag reports which implementation the tests use.
const cuTag = true
