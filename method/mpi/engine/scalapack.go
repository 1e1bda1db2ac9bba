package engine

import (
	"fmt"
	"os"

	"gpfit/device/cuda/native"
	"gpfit/internal/isa"
	"gpfit/method/mpi/message"
)

// LibraryVariable names a library of ScaLAPACK to open in place of the usual ones.
const LibraryVariable = "GPFIT_MPI_SCALAPACK"

// scalapack is the addresses of routines.
type scalapack struct {
	world                                                                                                *message.World
	blacsGet, blacsGridinit, pdpotrf, pdpotrs, pdtrtri, pdlauum, pdtrsm, pdtrmm, pdsyrk, pdtran, pdtradd uintptr
	// setThreads sets the number of threads of OpenBLAS, if the library uses it.
	setThreads uintptr
	// ofVendor means that the products are a vendor's.
	ofVendor bool
}

// openScaLAPACK opens the library of the same MPI.
func openScaLAPACK(l *message.Library) (s scalapack, err error) {
	names := []string{"libscalapack-mpich.so.2.2", "libscalapack-mpich.so.2.1"}
	if l.IsOpenMPI() {
		names = []string{"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so.2.1"}
	}
	names = append(names, "libscalapack.so.2.2", "libscalapack.so.2", "libscalapack.so")
	if name := os.Getenv(LibraryVariable); name != "" {
		names = []string{name}
	}
	nameProcessor()
	handle, err := message.OpenFirst(names)
	if err != nil {
		return s, fmt.Errorf("no library of ScaLAPACK for %s: install it, or name it in %s (%w)", l.Version, LibraryVariable, err)
	}
	if !l.Uses(handle) {
		return s, fmt.Errorf("the library of ScaLAPACK belongs to another MPI than %s: name the right one in %s", l.Version, LibraryVariable)
	}
	for name, to := range map[string]*uintptr{
		"blacs_get": &s.blacsGet, "blacs_gridinit": &s.blacsGridinit, "pdpotrf": &s.pdpotrf, "pdpotrs": &s.pdpotrs, "pdtrtri": &s.pdtrtri,
		"pdlauum": &s.pdlauum, "pdtrsm": &s.pdtrsm, "pdtrmm": &s.pdtrmm, "pdsyrk": &s.pdsyrk, "pdtran": &s.pdtran, "pdtradd": &s.pdtradd,
	} {
		if *to = native.Symbol(handle, name+"_"); *to == 0 {
			return s, fmt.Errorf("the library of ScaLAPACK lacks %s", name)
		}
	}
	s.setThreads = native.Symbol(handle, "openblas_set_num_threads")
	for _, name := range []string{"mkl_get_version", "MKL_Get_Version", "armpl_get_version", "bli_init", "nvpl_blas_get_version"} {
		s.ofVendor = s.ofVendor || native.Symbol(handle, name) != 0
	}
	return s, nil
}

// nameProcessor tells OpenBLAS the instructions of the processor, unless a variable does. A release older than a processor
// takes routines of 2004 for it, which are a third as fast.
func nameProcessor() {
	const variable = "OPENBLAS_CORETYPE"
	name := map[isa.Variant]string{isa.AVX512: "SkylakeX", isa.AVX2: "Haswell"}[isa.Supported()[0]]
	if name != "" && os.Getenv(variable) == "" {
		_ = os.Setenv(variable, name)
	}
}

// Slow reports whether the reference BLAS probably computes the products, which takes many times as long.
func (s scalapack) Slow() bool { return s.setThreads == 0 && !s.ofVendor }

// SetThreads sets the threads of the library's products, unless a variable does.
func (s scalapack) SetThreads(n int) {
	if s.setThreads != 0 && os.Getenv("OPENBLAS_NUM_THREADS") == "" {
		native.Pass(s.setThreads, n)
	}
}

// area is a part of a matrix that begins with an element: what this rank has of the whole matrix, and its description.
type area struct {
	local       []float64
	description []int32
	row, col    int
}

// run calls a routine in Fortran, which takes addresses, and after them the lengths of texts.
func (s scalapack) run(routine uintptr, args ...any) {
	var passed, lengths []any
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			passed, lengths = append(passed, []byte(arg)), append(lengths, len(arg))
		case int:
			passed = append(passed, []int32{int32(arg)})
		case float64:
			passed = append(passed, []float64{arg})
		case area:
			passed = append(passed, arg.local, []int32{int32(arg.row + 1)}, []int32{int32(arg.col + 1)}, arg.description)
		default:
			passed = append(passed, arg)
		}
	}
	native.Pass(routine, append(passed, lengths...)...)
}

// potrf factors a symmetric part of order n: LLᵀ, in the lower half. It returns the order of the first leading minor that
// is not positive, or 0, on all ranks.
func (s scalapack) potrf(n int, a area) (minor int) {
	info := []int32{0}
	s.run(s.pdpotrf, "L", n, a, info)
	return int(s.world.Largest(float64(info[0])))
}

// potrs overwrites the n×m part b by (LLᵀ)⁻¹b.
func (s scalapack) potrs(n, m int, l, b area) { s.run(s.pdpotrs, "L", n, m, l, b, []int32{0}) }

// solveLower overwrites the m×n part b by L⁻¹b, or by L⁻ᵀb.
func (s scalapack) solveLower(transposed bool, m, n int, l, b area) {
	s.run(s.pdtrsm, "L", "L", map[bool]string{false: "N", true: "T"}[transposed], "N", m, n, 1.0, l, b)
}

// solveLowerRight overwrites the m×n part b by bL⁻ᵀ.
func (s scalapack) solveLowerRight(m, n int, l, b area) {
	s.run(s.pdtrsm, "R", "L", "T", "N", m, n, 1.0, l, b)
}

// subtractSquare subtracts aaᵀ, for an n×k part a, from the lower half of c, of order n.
func (s scalapack) subtractSquare(n, k int, a, c area) {
	s.run(s.pdsyrk, "L", "N", n, k, -1.0, a, 1.0, c)
}

// transpose writes the transpose of the n×m part a to the m×n part c.
func (s scalapack) transpose(m, n int, a, c area) { s.run(s.pdtran, m, n, 1.0, a, 0.0, c) }

// transposeTriangle writes the transpose of the lower triangle of a, of order n, to the upper one of c.
func (s scalapack) transposeTriangle(n int, a, c area) {
	s.run(s.pdtradd, "U", "T", n, n, 1.0, a, 0.0, c)
}

// copyTriangle writes the upper triangle of a, of order n, to c.
func (s scalapack) copyTriangle(n int, a, c area) { s.run(s.pdtradd, "U", "N", n, n, 1.0, a, 0.0, c) }

// trtri inverts the upper triangle of order n.
func (s scalapack) trtri(n int, u area) { s.run(s.pdtrtri, "U", "N", n, u, []int32{0}) }

// lauum overwrites the upper triangle of order n by the upper half of UUᵀ.
func (s scalapack) lauum(n int, u area) { s.run(s.pdlauum, "U", n, u) }

// solveRight overwrites the m×n part b by bU⁻¹.
func (s scalapack) solveRight(m, n int, u, b area) {
	s.run(s.pdtrsm, "R", "U", "N", "N", m, n, 1.0, u, b)
}

// multiplyLeft overwrites the m×n part b by −Ub.
func (s scalapack) multiplyLeft(m, n int, u, b area) {
	s.run(s.pdtrmm, "L", "U", "N", "N", m, n, -1.0, u, b)
}

// multiplyRight overwrites the m×n part b by bUᵀ.
func (s scalapack) multiplyRight(m, n int, u, b area) {
	s.run(s.pdtrmm, "R", "U", "T", "N", m, n, 1.0, u, b)
}

// addSquare adds aaᵀ, for an n×k part a, to the upper half of c, of order n.
func (s scalapack) addSquare(n, k int, a, c area) { s.run(s.pdsyrk, "U", "N", n, k, 1.0, a, 1.0, c) }
