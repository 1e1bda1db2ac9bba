package engine

import "gpfit/method/mpi/part"

// width returns the number of columns of a panel for an n×n matrix.
func (a *Matrix) width() int {
	return a.grid.Block * max(1, panelColumns/a.grid.Block)
}

// panelColumns is about how many columns a panel has. With 512, a value and gradient of n = 4,000 on one rank took a third less
// processor time than with 128, which ScaLAPACK takes itself, and as much as with a triangle inverted by ELPA.
const panelColumns = 512

// panels calls f for all panels of columns.
func (a *Matrix) panels(f func(first, width int) (stop bool)) (stopped bool) {
	n, w := a.Cols.N, a.width()
	for k := 0; k < n; k += w {
		if f(k, min(w, n-k)) {
			return true
		}
	}
	return false
}

// Factor overwrites the lower half of Σ by L, Σ = LLᵀ. minor is the order of the first leading minor that is not
// positive, or 0.
func (a *Matrix) Factor(done part.Progress) (minor int, stopped bool) {
	n, g := a.Cols.N, a.grid
	stopped = a.panels(func(k, w int) bool {
		if minor = g.potrf(w, a.at(k, k)); minor != 0 {
			minor += k
			return true
		}
		rest := n - k - w
		if rest > 0 {
			g.solveLowerRight(rest, w, a.at(k, k), a.at(k+w, k))
			g.subtractSquare(rest, w, a.at(k+w, k), a.at(k+w, k+w))
		}
		return done(cubes(n-k, rest))
	})
	return minor, stopped && minor == 0
}

// cubes returns the third of the difference of two cubes.
func cubes(a, b int) float64 {
	x, y := float64(a), float64(b)
	return (x*x*x - y*y*y) / 3
}

// Solve overwrites b, of as many rows, by Σ⁻¹b.
func (a *Matrix) Solve(b *Matrix) { a.grid.potrs(a.Cols.N, b.Cols.N, a.at(0, 0), b.at(0, 0)) }

// SolveTriangle overwrites b by L⁻¹b, or by L⁻ᵀb.
func (a *Matrix) SolveTriangle(b *Matrix, transposed bool) {
	a.grid.solveLower(transposed, a.Cols.N, b.Cols.N, a.at(0, 0), b.at(0, 0))
}

// Invert writes the upper half of Σ⁻¹ = U⁻¹U⁻ᵀ, U = Lᵀ. It keeps L, but for its diagonal.
func (a *Matrix) Invert(done part.Progress) (stopped bool, err error) {
	a.transpose()
	g := a.grid
	if g.elpa != nil && a.onAllRanks() {
		if err := g.elpa.invert(a.Local, elpaPart{a.Cols.N, a.Stride, a.Cols.Count(a.Cols.N), g.Block, g.Row, g.Col}); err != nil {
			return false, err
		}
		stopped = done(cubes(a.Cols.N, 0))
	} else {
		stopped = a.panels(func(k, w int) bool {
			if k > 0 {
				g.multiplyLeft(k, w, a.at(0, 0), a.at(0, k))
				g.solveRight(k, w, a.at(k, k), a.at(0, k))
			}
			g.trtri(w, a.at(k, k))
			return done(cubes(k+w, k))
		})
	}
	return stopped || a.panels(func(k, w int) bool {
		if k > 0 {
			g.addSquare(k, w, a.at(0, k), a.at(0, 0))
			g.multiplyRight(k, w, a.at(k, k), a.at(0, k))
		}
		g.lauum(w, a.at(k, k))
		return done(cubes(k+w, k))
	}), nil
}

// transpose writes Lᵀ to the upper half.
func (a *Matrix) transpose() {
	n, g := a.Cols.N, a.grid
	a.panels(func(k, w int) bool {
		t := g.NewMatrix(w, w)
		g.transposeTriangle(w, a.at(k, k), t.at(0, 0))
		g.copyTriangle(w, t.at(0, 0), a.at(k, k))
		if rest := n - k - w; rest > 0 {
			g.transpose(w, rest, a.at(k+w, k), a.at(k, k+w))
		}
		return false
	})
}

// onAllRanks reports whether each rank has a part of the matrix.
func (a *Matrix) onAllRanks() bool {
	blocks := (a.Cols.N + a.grid.Block - 1) / a.grid.Block
	return blocks >= max(a.grid.Shape.Rows, a.grid.Shape.Cols)
}
