package host

import (
	"gpfit/device"
	"gpfit/internal/each"
	"gpfit/kernel"
	"gpfit/kernel/vec"
	"gpfit/method/mpi/part"
)

// Contract inverts Σ and contracts the adjoint, as [device.Workspace.Contract] does. The factor is there afterwards. It adds to grad
// and diag.
func (h *Part) Contract(adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64, done part.Progress) (stopped bool, err error) {
	h.bind(prog, theta)
	if stopped, err = h.matrix.Invert(done); stopped || err != nil {
		return stopped, err
	}
	n := h.x.N
	a := adjoint{Part: h, Adjoint: adj, diag: diag}
	for k := range adj.Outer {
		own := each.Of(h.rowsAt, func(at int) float64 { return adj.Vectors[k*n+at] })
		a.own = append(a.own, own)
	}
	params := prog.NumParams
	parts := make([]float64, params*((len(h.colsAt)+columnsOfTask-1)/columnsOfTask))
	scratch := make([]float64, h.threads*rowLength)
	h.columns(len(h.colsAt), func(worker, group, j0, j1 int) {
		part, g := parts[group*params:][:params], scratch[worker*rowLength:][:rowLength]
		for j := j0; j < j1; j++ {
			Pieces(0, h.matrix.Rows.Count(h.colsAt[j]+1), func(i0, i1 int) {
				a.column(g[:i1-i0], j, i0)
				h.evaluators[worker].RowGradient(part, g[:i1-i0], h.x, h.colsAt[j], h.rows, i0, i1)
			})
		}
	})
	for j, v := range h.pivots { // the inverse has the diagonal, and the factor all below
		if i := h.diagonal(j); i >= 0 {
			h.matrix.Column(j)[i] = v
		}
	}
	for i, v := range parts {
		grad[i%params] += v
	}
	return false, nil
}

// adjoint is the matrix G of a contraction, of which the rank has the blocks of Σ⁻¹.
type adjoint struct {
	*Part
	device.Adjoint
	// own are the vectors at the rows of the rank.
	own  [][]float64
	diag []float64
}

// column writes elements of column j of the rank, from row i on, to g: doubled above the diagonal.
func (a *adjoint) column(g []float64, j, i int) {
	at, n := a.colsAt[j], a.x.N
	inverse := a.matrix.Column(j)[i : i+len(g)]
	vec.Scale(g, inverse, 2*a.Inv)
	for k, f := range a.Outer {
		vec.Combine(g, g, a.own[k][i:i+len(g)], 1, 2*f*a.Vectors[k*n+at])
	}
	if last := len(g) - 1; i+last == a.diagonal(j) {
		v := a.Inv * inverse[last]
		for k, f := range a.Outer {
			v += f * a.Vectors[k*n+at] * a.Vectors[k*n+at]
		}
		g[last], a.diag[at] = v, v
	}
}
