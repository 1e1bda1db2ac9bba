package cuda

import (
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
)

// lookAhead is the Cholesky factorization of a workspace that holds U, too, right-looking, in blocks of columns. The
// main stream computes a block by the kernels of small matrices, without any inverse, and updates the next block. It
// then goes on with that block while the other streams update the columns to the right of it.
type lookAhead struct {
	*Workspace
	block   int64
	systems kernels.Systems
}

// blockProducts is the number of products that update a block.
const blockProducts = 4

// factorAhead overwrites Σ with L.
func factorAhead(w *Workspace) {
	f := lookAhead{Workspace: w, block: w.sizes.panelWidth(w.n)}
	count := int64(len(kernels.System{}.Words()))
	w.need(&w.memory, &w.system, count+2)
	out := w.system.at.Offset(8 * count)
	w.then(func() error {
		return driver.Send(w.gpu.staging, w.system.at, kernels.System{A: w.sigma.at, Out: out}.Words())
	})
	f.systems = kernels.Systems{Problems: w.system.at, Count: 1, N: w.n, LD: w.matrix.LD}
	for o := int64(len(w.updates)) * f.block; o < w.n; o += f.block {
		next := min(o+f.block, w.n)
		w.updates = append(w.updates, updates(w.matrix, w.n, o, next-o, next, f.block/blockProducts))
	}
	w.Begin("factor", f.flops())
	for o := int64(0); o < w.n && w.err == nil; o += f.block {
		f.columns(o)
		f.update(o)
	}
	if w.err != nil {
		w.gpu.tracks.settle()
	}
	result := []float64{0}
	w.download(result, out)
	if minor := int64(result[0]); w.err == nil && minor > 0 {
		w.fail(w.explainMinor(minor))
	}
}

// columns computes the block of columns at o, which all earlier blocks have updated.
func (f lookAhead) columns(o int64) {
	end := min(o+f.block, f.n)
	for j := o; j < end; j += kernels.MaxInvert {
		f.run(f.systems.Columns(j)...)
		next := min(j+kernels.MaxInvert, end)
		f.worked(float64(f.n-j) * kernels.MaxInvert * kernels.MaxInvert)
		f.gemm(plain, transposed, f.n-next, end-next, next-j, -1, f.at(next, j), f.at(next, j), 1, f.at(next, next))
	}
}

// update subtracts the block at o from the columns to its right: from the next block at once, and from the others while the
// main stream goes on.
func (f lookAhead) update(o int64) {
	f.then(f.gpu.tracks.join) // the block before has updated all columns
	all := f.updates[o/f.block]
	next, others := all[:min(blockProducts, len(all))], all[min(blockProducts, len(all)):]
	for _, p := range next {
		f.gemm(plain, p.opB, p.m, p.n, p.k, p.alpha, p.a, p.b, p.beta, p.c)
	}
	if len(others) > 0 {
		f.then(func() error { return f.gpu.tracks.start(others) })
		f.worked(others.flops())
	}
}

// flops counts operations: n³/3, plus O(block·n²).
func (f lookAhead) flops() (sum float64) {
	for o := int64(0); o < f.n; o += f.block {
		end := min(o+f.block, f.n)
		for j := o; j < end; j += kernels.MaxInvert {
			next := min(j+kernels.MaxInvert, end)
			sum += float64(f.n-j)*kernels.MaxInvert*kernels.MaxInvert + 2*float64(f.n-next)*float64(end-next)*float64(next-j)
		}
		sum += f.updates[o/f.block].flops()
	}
	return sum
}
