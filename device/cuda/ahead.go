package cuda

import (
	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/kernels"
	"gpfit/internal/cuda/waves"
)

// lookAhead is the Cholesky factorisation of a workspace that has room for U, right-looking, in blocks of columns. The
// main stream computes a block by the kernels of small matrices, without any inverse, and updates the next block. It
// then goes on with that block while the other streams update the columns to the right of it.
type lookAhead struct {
	*Workspace
	block   int64
	systems kernels.Systems
}

// factorAhead overwrites Σ with L.
func factorAhead(w *Workspace) {
	f := lookAhead{Workspace: w, block: w.sizes.panelWidth(w.n)}
	words := kernels.System{A: w.sigma.at}.Words()
	w.need(&w.memory, &w.system, int64(len(words))+2)
	out := w.system.at.Offset(8 * int64(len(words)))
	words = kernels.System{A: w.sigma.at, Out: out}.Words()
	w.then(func() error { return driver.Send(w.gpu.staging, w.system.at, words) })
	f.systems = kernels.Systems{Problems: w.system.at, Count: 1, N: w.n, LD: w.matrix.LD}
	for o := int64(len(w.updates)) * f.block; o < w.n; o += f.block {
		next := min(o+f.block, w.n)
		w.updates = append(w.updates, waves.Update(w.matrix, w.n, o, next-o, min(next+f.block, w.n), f.block/4))
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
		w.fail(explainMinor(w, minor))
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
	next := min(o+f.block, f.n)
	after := min(next+f.block, f.n)
	f.then(f.gpu.tracks.join) // the block before has updated all columns
	for j := next; j < after; j += f.block / 4 {
		f.gemm(plain, transposed, f.n-j, min(f.block/4, after-j), next-o, -1, f.at(j, o), f.at(j, o), 1, f.at(j, j))
	}
	if p := f.updates[o/f.block]; len(p) > 0 {
		f.then(func() error { return f.gpu.tracks.start(p) })
		f.worked(p.Flops())
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
		after := min(end+f.block, f.n)
		for j := end; j < after; j += f.block / 4 {
			sum += 2 * float64(f.n-j) * float64(min(f.block/4, after-j)) * float64(end-o)
		}
		sum += f.updates[o/f.block].Flops()
	}
	return sum
}
