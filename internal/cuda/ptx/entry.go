package ptx

import (
	"bytes"
	"fmt"
)

// Threads is the number of threads in a block of every kernel.
const Threads = 256

// ParamKind is the type of a kernel parameter; all have 8 bytes.
type ParamKind uint8

// The kinds of parameters.
const (
	Pointer ParamKind = iota + 1
	Int
	Double
)

// EntryParam is a parameter of a kernel.
type EntryParam struct {
	Name string
	Kind ParamKind
}

// Entry is a kernel and its parameters.
type Entry struct {
	Name   string
	Params []EntryParam
}

// Each entry is a separate module, for points x stored by column; [Kernel.Uniforms]
// fills the uniforms.
var (
	// Fill writes Σ = K + diag(noise) to a, for columns j0 ≤ j < j1 and rows i ≥ j: a[i
	// + j·lda]. noise has one element for all points, or n. The launch has a block for
	// every tile of rows from j0 on.
	Fill = Entry{"gpfit_fill", params("*uniforms *x n *a lda j0 j1 *noise noises")}
	// Cross writes k(x_i, x*_r) to out[i + (r−r0)·ldo], for 0 ≤ i < n and test points
	// r0 ≤ r < r1 out of the m in xs. The launch has a block for every tile.
	Cross = Entry{"gpfit_cross", params("*uniforms *x n *xs m r0 r1 *out ldo")}
	// Multiply writes rows i0 ≤ i < i1 of Σ·v to y[i−i0 + q·ldy], for the n×m matrix v.
	// It generates both triangles of Σ again from the points, so that a check of a
	// factorisation shares nothing with the factorisation. A block for 64 rows
	// processes all columns in order.
	Multiply = Entry{"gpfit_multiply", params("*uniforms *x n *noise noises i0 i1 *v ldv m *y ldy")}
	// Contract reads columns j0 ≤ j < j1 of Σ⁻¹, rows 0 ≤ i ≤ j, from s[i + (j−j0)·lds],
	// and of M in the same way from middle, which may be null; it does not read below the
	// diagonal. vectors holds count columns of n numbers, outer as many factors. With G =
	// inv·Σ⁻¹ + M + Σ_k outer_k·v_k v_kᵀ, and elements off the diagonal counted twice,
	// block b of B writes its share of Σ_pairs G·value to partial[r·B + b] for every row
	// r of sums, and G_jj to diag[j]. scratch has 256 numbers for every block and eight
	// rows.
	Contract = Entry{"gpfit_contract", params("*uniforms *x n *s lds *middle ldm j0 j1 *vectors *outer count .inv *diag *scratch *partial")}
)

// Entries lists all entries.
func Entries() []*Entry { return []*Entry{&Fill, &Cross, &Multiply, &Contract} }

// params parses a list of parameters: a star marks a pointer, a point a float64; the
// others are integers.
func params(list string) []EntryParam {
	var out []EntryParam
	for _, name := range bytes.Fields([]byte(list)) {
		p := EntryParam{string(name), Int}
		switch name[0] {
		case '*':
			p = EntryParam{string(name[1:]), Pointer}
		case '.':
			p = EntryParam{string(name[1:]), Double}
		}
		out = append(out, p)
	}
	return out
}

// Target returns the architecture for a device of the given compute capability. It
// returns an error for devices before 8.0.
func Target(major, minor int) (string, error) {
	switch {
	case major >= 9:
		return "sm_90", nil
	case major == 8:
		return "sm_80", nil
	}
	return "", fmt.Errorf("kernels: compute capability %d.%d is below 8.0", major, minor)
}

// header returns the beginning of a module. PTX 7.8 is the oldest version that knows
// sm_90, and any driver from 520 on loads it.
func header(target string) string {
	return fmt.Sprintf(".version 7.8\n.target %s\n.address_size 64\n", target)
}
