package gpfit

import (
	"context"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/gp"
)

// Update returns a model with more training rows, at the same parameters and with the
// same scaling, and how the model predicted the new rows before: the report says whether
// the parameters should be tuned again, which a fit with Options.From does. It extends
// the Cholesky factor of the model, which costs n²m operations for m new rows, where a
// new one costs n³/3. The model stays as it is; the caller closes both. A model with
// several targets or with noise that differs from row to row needs [Model.UpdateData].
//
// Errors: [*gp.ShapeError], [*gp.NoiseError], [*gp.RangeError], [*device.NotPDError],
// [*device.MemoryError].
func (m *Model) Update(ctx context.Context, x [][]float64, y []float64) (*Model, *summary.UpdateReport, error) {
	rows, err := m.rows(x)
	if err != nil {
		return nil, nil, err
	}
	return m.UpdateData(ctx, gp.Addition{X: rows, Y: y, N: len(x)})
}

// UpdateData is Update for rows in slices, with several targets or known noise.
func (m *Model) UpdateData(ctx context.Context, add gp.Addition) (*Model, *summary.UpdateReport, error) {
	began := time.Now()
	prog, err := m.model.Program()
	if err != nil {
		return nil, nil, err
	}
	name, _, _ := strings.Cut(m.device, ",")
	opened, err := Devices{Name: name}.Open(ctx, device.Workload{N: m.model.N() + add.N, D: len(m.model.Columns), Program: prog})
	if err != nil {
		return nil, nil, err
	}
	var out *Model
	var report *summary.UpdateReport
	err = m.use(func(p *gp.Posterior) error {
		posterior, extension, err := p.Extend(ctx, opened.Backends[0], add)
		if err != nil {
			return err
		}
		if report, err = summary.NewUpdateReport(m.model, posterior.Whole(), extension); err != nil {
			_ = posterior.Close()
			return err
		}
		report.Device, report.Seconds = opened.Backends[0].Info().Name, time.Since(began).Seconds()
		out = loaded(posterior.Whole(), posterior, opened)
		out.model.Record, err = summary.UpdatedRecord(m.model.Record, report)
		return err
	})
	if err != nil {
		opened.Close()
		return nil, nil, err
	}
	return out, report, nil
}
