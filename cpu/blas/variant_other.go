//go:build !amd64 && !arm64

package blas

// processorVariants returns no variants: there is no assembly for this processor.
func processorVariants() []string { return nil }
