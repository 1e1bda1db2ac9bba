package multi

import (
	"fmt"
	"unsafe"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
)

// Matrix is an m×n matrix in square blocks, which are dealt out to the grid in both directions, the first to rank 0.
type Matrix struct {
	// Part is the part of this rank.
	Part         driver.Matrix
	grid         *Grid
	blas, solver uintptr
}

// real64 is CUDA_R_64F of cudaDataType, and compute64 CUBLAS_COMPUTE_64F of cublasComputeType_t.
const (
	real64    = 1
	compute64 = 70
)

// Describe returns the m×n matrix in blocks of an order of which part is this rank's part.
func (g *Grid) Describe(m, n, order int64, part driver.Matrix) (*Matrix, error) {
	a := &Matrix{Part: part, grid: g}
	err := g.dev.Do(func() error {
		if err := g.run(blasDescribe, uintptr(m), uintptr(n), uintptr(order), uintptr(order), 0, 0, uintptr(part.LD), real64,
			g.blasGrid, uintptr(unsafe.Pointer(&a.blas))); err != nil {
			return err
		}
		return g.run(solverDescribe, uintptr(unsafe.Pointer(&a.solver)), g.solverGrid, real64, uintptr(m), uintptr(n), uintptr(order), uintptr(order), 0, 0,
			uintptr(part.LD))
	})
	return a, err
}

// Forget frees the descriptions, not the memory of the part. A nil matrix has none.
func (a *Matrix) Forget() error {
	if a == nil || a.grid.dev.Err() != nil {
		return nil
	}
	return a.grid.dev.Do(func() error {
		if a.blas != 0 {
			if err := a.grid.run(blasForget, a.blas); err != nil {
				return err
			}
		}
		if a.solver != 0 {
			if err := a.grid.run(solverForget, a.solver); err != nil {
				return err
			}
		}
		a.blas, a.solver = 0, 0
		return nil
	})
}

// At returns the part of a that begins with an element, counted from 0: the first of a block.
func (a *Matrix) At(row, col int64) Area { return Area{a, row + 1, col + 1} }

// Area is a part of a matrix. The libraries count its Row and Col from 1.
type Area struct {
	*Matrix
	Row, Col int64
}

// These are values of cublasFillMode_t and cublasDiagType_t.
const (
	lower   = 0
	nonUnit = 0
)

// Potrf overwrites the lower half of the n×n area by its Cholesky factor L, and waits for it (cusolverMpPotrf). minor is 0, or
// the order of the leading minor that is not positive definite, as far as this rank knows.
func (g *Grid) Potrf(n int64, a Area) (minor int, err error) {
	err = g.dev.Do(func() error {
		var device, host int64
		if err := g.run(solverPotrfSize, g.solver, lower, uintptr(n), uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.solver, real64,
			uintptr(unsafe.Pointer(&device)), uintptr(unsafe.Pointer(&host))); err != nil {
			return err
		}
		if err := g.reserve(device, host); err != nil {
			return err
		}
		if err := g.stream.Memset(g.info, 0, infoBytes); err != nil {
			return err
		}
		if err := g.run(solverPotrf, g.solver, lower, uintptr(n), uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.solver, real64,
			uintptr(g.work), uintptr(device), uintptr(unsafe.Pointer(&g.host[0])), uintptr(host), uintptr(g.info)); err != nil {
			return err
		}
		info := make([]int32, 1)
		if err := driver.CopyToHost(g.stream, info, g.info); err != nil {
			return err
		}
		if info[0] < 0 {
			return fmt.Errorf("%s: argument %d is wrong", symbols[solverPotrf], -info[0])
		}
		minor = int(info[0])
		return nil
	})
	return minor, err
}

// Trsm queues B = op(L)⁻¹·B (Left) or B·op(L)⁻¹ (Right) for the lower triangle L and the m×n area B (cublasMpTrsm).
func (g *Grid) Trsm(side mathlib.Side, op mathlib.Transpose, m, n int64, l, b Area) error {
	return g.dev.Do(func() error {
		one := 1.0
		var device, host int64
		if err := g.run(blasTrsmSize, g.blas, uintptr(side), lower, uintptr(op), nonUnit, uintptr(m), uintptr(n), uintptr(unsafe.Pointer(&one)),
			uintptr(l.Part.A), uintptr(l.Row), uintptr(l.Col), l.blas, uintptr(b.Part.A), uintptr(b.Row), uintptr(b.Col), b.blas, compute64,
			uintptr(unsafe.Pointer(&device)), uintptr(unsafe.Pointer(&host))); err != nil {
			return err
		}
		if err := g.reserve(device, host); err != nil {
			return err
		}
		return g.run(blasTrsm, g.blas, uintptr(side), lower, uintptr(op), nonUnit, uintptr(m), uintptr(n), uintptr(unsafe.Pointer(&one)),
			uintptr(l.Part.A), uintptr(l.Row), uintptr(l.Col), l.blas, uintptr(b.Part.A), uintptr(b.Row), uintptr(b.Col), b.blas, compute64,
			uintptr(g.work), uintptr(device), uintptr(unsafe.Pointer(&g.host[0])), uintptr(host))
	})
}

// Syrk queues C −= A·Aᵀ for the n×k area A and the lower half of the n×n area C (cublasMpSyrk).
func (g *Grid) Syrk(n, k int64, a, c Area) error {
	return g.dev.Do(func() error {
		minus, one := -1.0, 1.0
		var device, host int64
		if err := g.run(blasSyrkSize, g.blas, lower, uintptr(mathlib.NoTrans), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&minus)),
			uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.blas, uintptr(unsafe.Pointer(&one)), uintptr(c.Part.A), uintptr(c.Row), uintptr(c.Col), c.blas, compute64,
			uintptr(unsafe.Pointer(&device)), uintptr(unsafe.Pointer(&host))); err != nil {
			return err
		}
		if err := g.reserve(device, host); err != nil {
			return err
		}
		return g.run(blasSyrk, g.blas, lower, uintptr(mathlib.NoTrans), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&minus)),
			uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.blas, uintptr(unsafe.Pointer(&one)), uintptr(c.Part.A), uintptr(c.Row), uintptr(c.Col), c.blas, compute64,
			uintptr(g.work), uintptr(device), uintptr(unsafe.Pointer(&g.host[0])), uintptr(host))
	})
}

// MultiplyTransposed queues C = A·Bᵀ for the m×k area A, the n×k area B and the m×n area C (cublasMpGemm).
func (g *Grid) MultiplyTransposed(m, n, k int64, a, b, c Area) error {
	return g.dev.Do(func() error {
		one, zero := 1.0, 0.0
		var device, host int64
		if err := g.run(blasGemmSize, g.blas, uintptr(mathlib.NoTrans), uintptr(mathlib.Trans), uintptr(m), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&one)),
			uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.blas, uintptr(b.Part.A), uintptr(b.Row), uintptr(b.Col), b.blas,
			uintptr(unsafe.Pointer(&zero)), uintptr(c.Part.A), uintptr(c.Row), uintptr(c.Col), c.blas, compute64,
			uintptr(unsafe.Pointer(&device)), uintptr(unsafe.Pointer(&host))); err != nil {
			return err
		}
		if err := g.reserve(device, host); err != nil {
			return err
		}
		return g.run(blasGemm, g.blas, uintptr(mathlib.NoTrans), uintptr(mathlib.Trans), uintptr(m), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&one)),
			uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.blas, uintptr(b.Part.A), uintptr(b.Row), uintptr(b.Col), b.blas,
			uintptr(unsafe.Pointer(&zero)), uintptr(c.Part.A), uintptr(c.Row), uintptr(c.Col), c.blas, compute64,
			uintptr(g.work), uintptr(device), uintptr(unsafe.Pointer(&g.host[0])), uintptr(host))
	})
}

// Transpose queues C = Aᵀ for the n×m area A and the m×n area C (cublasMpGeadd).
func (g *Grid) Transpose(m, n int64, a, c Area) error {
	return g.dev.Do(func() error {
		one, zero := 1.0, 0.0
		var device, host int64
		if err := g.run(blasGeaddSize, g.blas, uintptr(mathlib.Trans), uintptr(m), uintptr(n), uintptr(unsafe.Pointer(&one)),
			uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.blas, uintptr(unsafe.Pointer(&zero)), uintptr(c.Part.A), uintptr(c.Row), uintptr(c.Col), c.blas,
			uintptr(unsafe.Pointer(&device)), uintptr(unsafe.Pointer(&host))); err != nil {
			return err
		}
		if err := g.reserve(device, host); err != nil {
			return err
		}
		return g.run(blasGeadd, g.blas, uintptr(mathlib.Trans), uintptr(m), uintptr(n), uintptr(unsafe.Pointer(&one)),
			uintptr(a.Part.A), uintptr(a.Row), uintptr(a.Col), a.blas, uintptr(unsafe.Pointer(&zero)), uintptr(c.Part.A), uintptr(c.Row), uintptr(c.Col), c.blas,
			uintptr(g.work), uintptr(device), uintptr(unsafe.Pointer(&g.host[0])), uintptr(host))
	})
}
