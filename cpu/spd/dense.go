package spd

import "context"

// Load writes Σ from the lower triangle of a dense matrix, stored by rows.
func (m *Symmetric) Load(a []float64) {
	for i := 0; i < m.n; i += m.lanes {
		m.SetRows(i, 0, min(i+m.lanes, m.n), a[i*m.n:], m.n)
	}
}

// LoadInverse writes Σ⁻¹ from the upper triangle of a dense matrix, stored by rows.
func (m *Symmetric) LoadInverse(a []float64) {
	for i := 0; i < m.n; i += m.lanes {
		m.SetRows(i, i, m.n, a[i*m.n+i:], m.n)
	}
}

// Inverse writes both halves of Σ⁻¹ to a dense matrix.
func (m *panels) Inverse(dst []float64) {
	for i := 0; i < m.n; i += m.lanes {
		m.spread(dst, i, m.panel(i, i))
	}
}

// spread writes the panel of row i, from column i on, to a dense symmetric matrix.
func (m *panels) spread(dst []float64, i int, panel []float64) {
	n, rows := m.n, min(m.lanes, m.n-i)
	for j := i; j < n; j++ {
		column := panel[(j-i)*m.lanes:][:min(rows, j+1-i)]
		copy(dst[j*n+i:], column)
		for r, v := range column {
			dst[(i+r)*n+j] = v
		}
	}
}

// weighRows is the number of rows that WeighInverse computes at a time.
const weighRows = 144

// WeighInverse writes both halves of Σ⁻¹·diag(c)·Σ⁻¹ to a dense matrix. It takes n³
// operations and working space for 288 rows, which m keeps. If ctx ends, it returns the error of ctx.
func (m *Symmetric) WeighInverse(ctx context.Context, c, dst []float64) error {
	rows := min(m.n, weighRows)
	for i := range m.weighed {
		if m.weighed[i] == nil {
			m.weighed[i] = m.NewRowBlock(rows).x
		}
	}
	left, product := &RowBlock{m: m, x: m.weighed[0]}, &RowBlock{m: m, x: m.weighed[1]}
	for i0 := 0; i0 < m.n; i0 += rows {
		if err := left.ScaledInverse(ctx, i0, min(i0+rows, m.n), c); err != nil {
			return err
		}
		if err := product.MultiplyInverse(ctx, left, nil); err != nil {
			return err
		}
		for p := range product.panels() {
			i := i0 + p*m.lanes
			m.spread(dst, i, product.x[p*product.stride()+i*m.lanes:])
		}
	}
	return nil
}
