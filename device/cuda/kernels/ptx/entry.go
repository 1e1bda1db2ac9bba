package ptx

import (
	"bytes"
	"fmt"
)

// Threads is the number of threads in a block of every kernel.
const Threads = 256

// ParamKind is the type of a kernel parameter; all have 8 bytes.
type ParamKind uint8

// The kinds.
const (
	Pointer ParamKind = iota + 1
	Int
	Double
)

// Param is a parameter of a kernel.
type Param struct {
	Name string
	Kind ParamKind
}

// Entry is a kernel and its parameters.
type Entry struct {
	Name   string
	Params []Param
}

// The entries, each a module of its own, for points x by column; uniforms are those
// of [Kernel.Uniforms].
var (
	// Fill writes Σ = K + diag(noise) to a, for columns j0 ≤ j < j1 and rows i ≥ j:
	// a[i + j·lda]. noise has one element for all points, or n. There is a block for
	// every tile of rows from j0 on.
	Fill = Entry{"gpfit_fill", params("*uniforms *x n *a lda j0 j1 *noise noises")}
	// Cross writes k(x_i, x*_r) to out[i + (r−r0)·ldo], for 0 ≤ i < n and test points
	// r0 ≤ r < r1 out of the m in xs. There is a block for every tile.
	Cross = Entry{"gpfit_cross", params("*uniforms *x n *xs m r0 r1 *out ldo")}
	// Multiply writes rows i0 ≤ i < i1 of Σ·v to y[i−i0 + q·ldy], for the n×m matrix
	// v. Σ is generated anew from the points, both triangles: a check of a
	// factorisation that shares nothing with it. A block for 64 rows goes through
	// all columns in order.
	Multiply = Entry{"gpfit_multiply", params("*uniforms *x n *noise noises i0 i1 *v ldv m *y ldy")}
	// Contract takes columns j0 ≤ j < j1 of Σ⁻¹, rows 0 ≤ i ≤ j, from
	// s[i + (j−j0)·lds], and of M in the same way from middle, which may be null; what
	// is below the diagonal is not read. There are count columns of n numbers in
	// vectors, and as many factors in outer. With G = inv·Σ⁻¹ + M + Σ_k outer_k·v_k v_kᵀ,
	// elements off the diagonal twice, block b of B writes its share of
	// Σ_pairs G·value to partial[r·B + b] for every row r of sums, and G_jj goes to
	// diag[j]. scratch has 256 numbers for every block and eight rows.
	Contract = Entry{"gpfit_contract", params("*uniforms *x n *s lds *middle ldm j0 j1 *vectors *outer count .inv *diag *scratch *partial")}
)

// Entries lists them.
func Entries() []*Entry { return []*Entry{&Fill, &Cross, &Multiply, &Contract} }

// params lists parameters: pointers with a star, numbers with a point, and integers.
func params(list string) []Param {
	var out []Param
	for _, name := range bytes.Fields([]byte(list)) {
		p := Param{string(name), Int}
		switch name[0] {
		case '*':
			p = Param{string(name[1:]), Pointer}
		case '.':
			p = Param{string(name[1:]), Double}
		}
		out = append(out, p)
	}
	return out
}

// Target is the architecture that code for a device of the given compute capability
// names. Devices before 8.0 are an error.
func Target(major, minor int) (string, error) {
	switch {
	case major >= 9:
		return "sm_90", nil
	case major == 8:
		return "sm_80", nil
	}
	return "", fmt.Errorf("kernels: compute capability %d.%d: at least 8.0 is needed", major, minor)
}

// header begins a module. PTX 7.8 is the oldest version that knows sm_90 and loads
// with any driver from 520 on.
func header(target string) string {
	return fmt.Sprintf(".version 7.8\n.target %s\n.address_size 64\n", target)
}
