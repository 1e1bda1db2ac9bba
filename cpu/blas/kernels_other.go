//go:build !amd64

package blas

import "runtime"

// Other processors have only the generic variant, which calls none of these.

type kernels struct {
	wide          bool
	mr, nr, lanes int
}

const noKernel = "blas: no kernels for this processor"

func (*kernels) full(int, *float64, *float64, *float64, int, float64, float64) { panic(noKernel) }

func (*kernels) edge(int, int, *float64, *float64, int, *float64, int, float64, float64, *tileMask) {
	panic(noKernel)
}

func (*kernels) forward(int, int, *float64, *float64, *float64, *float64) { panic(noKernel) }

func (*kernels) backward(int, int, *float64, *float64, *float64, *float64) { panic(noKernel) }

func (*kernels) cholesky(int, *float64, *float64, *float64) int { panic(noKernel) }

func (*kernels) copyRows(int, int, *float64, int, *float64, int) { panic(noKernel) }

func (*kernels) transposeTiles(int, *float64, int, int, *float64, int, int) { panic(noKernel) }

func (*kernels) squares(int, int, *float64, *float64) { panic(noKernel) }

func pause(int) { runtime.Gosched() }
