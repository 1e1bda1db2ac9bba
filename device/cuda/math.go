package cuda

import (
	"errors"
	"fmt"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
)

// The arguments of the matrix routines, in short.
type (
	op   = mathlib.Transpose
	side = mathlib.Side
)

const (
	plain      = mathlib.NoTrans
	transposed = mathlib.Trans
	left       = mathlib.Left
	right      = mathlib.Right
)

// findLibraries says why cuBLAS and cuSOLVER cannot be had, or nil.
func findLibraries(driverVersion int) error {
	_, err := mathlib.Find(driverVersion)
	return err
}

// mathLibrary is cuBLAS and cuSOLVER on the backend's stream, with the
// workspace of cuSOLVER. Triangles are those of our scheme: L below, U above.
type mathLibrary struct {
	lib    *mathlib.Library
	handle *mathlib.Handle
	dev    *driver.Device
	work   driver.Ptr
	size   int64
}

func newMathLibrary(dev *driver.Device, stream *driver.Stream) (*mathLibrary, error) {
	lib, err := mathlib.Load()
	if err != nil {
		return nil, err
	}
	handle, err := lib.New(stream)
	if err != nil {
		return nil, err
	}
	return &mathLibrary{lib: lib, handle: handle, dev: dev}, nil
}

func (m *mathLibrary) close() error {
	return errors.Join(m.dev.Free(m.work), m.handle.Close())
}

// description names the libraries and their versions.
func (m *mathLibrary) description() string {
	return fmt.Sprintf("cuBLAS %s, cuSOLVER %s", m.lib.BLAS, m.lib.Solver)
}

// workspace makes the workspace at least as large as asked.
func (m *mathLibrary) workspace(bytes int64) error {
	if bytes <= m.size {
		return nil
	}
	if err := m.dev.Free(m.work); err != nil {
		return err
	}
	m.work, m.size = 0, 0
	p, err := m.dev.Alloc(bytes)
	if err != nil {
		return err
	}
	m.work, m.size = p, bytes
	return nil
}

// gemm computes C = alpha·op(A)·op(B) + beta·C.
func (m *mathLibrary) gemm(ta, tb op, rows, cols, k int64, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	return m.handle.Gemm(ta, tb, rows, cols, k, alpha, ptr(a), a.LD, ptr(b), b.LD, beta, ptr(c), c.LD)
}

// symm computes C = A·B for a symmetric rows×rows matrix A whose upper triangle is
// read.
func (m *mathLibrary) symm(rows, cols int64, a, b, c kernels.Matrix) error {
	return m.handle.Symm(mathlib.Left, mathlib.Upper, rows, cols, 1, ptr(a), a.LD, ptr(b), b.LD, 0, ptr(c), c.LD)
}

// trsm overwrites b (rows×cols) by op(L)⁻¹·b or b·op(L)⁻¹.
func (m *mathLibrary) trsm(s side, t op, rows, cols int64, l, b kernels.Matrix) error {
	return m.handle.Trsm(s, mathlib.Lower, t, mathlib.NonUnit, rows, cols, 1, ptr(l), l.LD, ptr(b), b.LD)
}

// trmm overwrites b (rows×cols) by alpha·op(U)·b or alpha·b·op(U).
func (m *mathLibrary) trmm(s side, t op, rows, cols int64, alpha float64, u, b kernels.Matrix) error {
	return m.handle.Trmm(s, mathlib.Upper, t, mathlib.NonUnit, rows, cols, alpha, ptr(u), u.LD, ptr(b), b.LD, ptr(b), b.LD)
}

// potrf factors the lower triangle of an n×n block in place and returns 0 or
// the order of the leading minor that is not positive.
func (m *mathLibrary) potrf(n int64, a kernels.Matrix) (minor int, err error) {
	size, err := m.handle.PotrfSize(mathlib.Lower, n, ptr(a), a.LD)
	if err == nil {
		err = m.workspace(size.Device)
	}
	if err != nil {
		return 0, err
	}
	return m.handle.Potrf(mathlib.Lower, n, ptr(a), a.LD, m.work, size)
}

// trtri inverts the upper triangle of an n×n block in place.
func (m *mathLibrary) trtri(n int64, a kernels.Matrix) error {
	size, err := m.handle.TrtriSize(mathlib.Upper, mathlib.NonUnit, n, ptr(a), a.LD)
	if err == nil {
		err = m.workspace(size.Device)
	}
	if err != nil {
		return err
	}
	info, err := m.handle.Trtri(mathlib.Upper, mathlib.NonUnit, n, ptr(a), a.LD, m.work, size)
	if err == nil && info != 0 {
		err = fmt.Errorf("cuda: zero on the diagonal of the factor at %d", info)
	}
	return err
}
