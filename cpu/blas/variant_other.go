//go:build !amd64

package blas

func hasAVX512() bool { return false }

func hasAVX2() bool { return false }
