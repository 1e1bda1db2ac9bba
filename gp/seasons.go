package gp

import (
	"slices"

	"gpfit/kernel"
)

// Seasons returns the periods of the kernel and of the mean along a column of the model, in units of the column, ascending, each
// once. The error is of a kernel that does not compile.
func (m *Model) Seasons(column int) ([]float64, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, p := range prog.Params {
		if k := slices.Index(p.Dims, column); p.Kind == kernel.Period && k >= 0 {
			out = append(out, m.Theta[p.Offset+min(k, p.Size-1)]*m.Scaling.XScale[column])
		}
	}
	for _, f := range m.Mean.Basis {
		if f.Period > 0 && f.Column == column {
			out = append(out, f.Period)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
