package spd

import "context"

// SolveEquations replaces the right-hand sides b by Σ⁻¹·b. There are count of them, of N
// numbers each, one after the other. If ctx ends, it returns the error of ctx.
func (m *Symmetric) SolveEquations(ctx context.Context, b []float64, count int) error {
	if count == 1 {
		return m.solveVector(ctx, b[:m.n])
	}
	return m.solvePanels(ctx, b, count, true, true)
}

// solveVector replaces b by Σ⁻¹·b. It reads L at the speed of the memory.
func (m *Symmetric) solveVector(ctx context.Context, b []float64) error {
	if len(m.sides) < m.order {
		m.sides = aligned(m.order)
	}
	s := vectorSubstitution{matrix: &m.matrix, x: m.sides[:m.order]}
	clear(s.x[copy(s.x, b):])
	if err := m.substitute(ctx, s.forward, s.backward); err != nil {
		return err
	}
	copy(b, s.x)
	return nil
}

// A vectorSubstitution is a substitution for one right-hand side.
type vectorSubstitution struct {
	*matrix
	x []float64
}

// forward solves a block of unknowns of L·y = b, or subtracts one from a later block.
func (s *vectorSubstitution) forward(_, i0, i1, c0, c1 int) {
	for c := c0; c < c1; c += s.lanes {
		if k := min(c, i1) - i0; k > 0 {
			s.panelVector(k/4, s.p(c, i0), &s.x[i0], &s.x[c])
		}
		if i0 == c0 {
			s.forwardTile(c)
		}
	}
}

// backward solves a block of unknowns of Lᵀ·x = y, or subtracts one from an earlier block.
func (s *vectorSubstitution) backward(_, i0, i1, c0, c1 int) {
	for c := i1 - s.lanes; c >= i0; c -= s.lanes {
		if i0 == c0 {
			s.backwardTile(c)
		}
		if k := min(c, c1) - c0; k > 0 {
			s.panelTransposedVector(k/s.lanes, s.p(c, c0), &s.x[c], &s.x[c0])
		}
	}
}

// forwardTile solves for the unknowns of the tile at row c. The products are rounded, so that
// all processors have the same bits.
func (s *vectorSubstitution) forwardTile(c int) {
	l := s.lanes
	t, x := s.tiles[c*l:(c+l)*l], s.x[c:c+l]
	for j, v := range x {
		v *= t[j*l+j]
		x[j] = v
		for r := j + 1; r < l; r++ {
			x[r] -= float64(t[j*l+r] * v)
		}
	}
}

// backwardTile solves for the unknowns of the transposed tile at row c.
func (s *vectorSubstitution) backwardTile(c int) {
	l := s.lanes
	t, x := s.tiles[c*l:(c+l)*l], s.x[c:c+l]
	for j := l - 1; j >= 0; j-- {
		sum := x[j]
		for r := j + 1; r < l; r++ {
			sum -= float64(t[j*l+r] * x[r])
		}
		x[j] = sum * t[j*l+j]
	}
}
