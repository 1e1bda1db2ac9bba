package gpfit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/summary"
	"gpfit/gp"
)

// ErrClosed is returned by calls on a model after [Model.Close].
var ErrClosed = errors.New("gpfit: the model is closed")

// Prediction holds a mean, standard deviations and a 95 % interval for each row, in the units of
// the target; see [gp.Prediction]. Its method Interval returns intervals for other probabilities.
type Prediction = gp.Prediction

// Model is a fitted model on its device, ready to predict. All methods except
// Posterior are safe for concurrent use; they compute one at a time.
type Model struct {
	mu sync.Mutex
	// model has all targets.
	model     *gp.Model
	posterior *gp.Posterior
	device    string
	warnings  []string
	report    *summary.Report
	// saved is called once the model is in a file; close frees memory and devices.
	saved  func() error
	close  func()
	closed bool
}

// fitted returns the model of a fit that finished or, if not finished, was cancelled.
func fitted(o *fit.Outcome, opened *OpenDevices, finished bool) *Model {
	m := &Model{
		model: o.Model, posterior: o.Posterior(), report: &o.Report, device: o.Report.Device,
		saved: func() error { return nil },
	}
	if opened.Warning != "" {
		o.Report.Warnings = append([]string{opened.Warning}, o.Report.Warnings...)
	}
	m.warnings = o.Report.Warnings
	if finished {
		m.saved = o.RemoveCheckpoint
	}
	m.close = func() {
		o.Close()
		opened.Close()
	}
	return m
}

// loaded returns a model from a file.
func loaded(model *gp.Model, p *gp.Posterior, opened *OpenDevices) *Model {
	m := &Model{model: model, posterior: p, device: opened.Backends[0].Info().Name, saved: func() error { return nil }}
	if opened.Warning != "" {
		m.warnings = []string{opened.Warning}
	}
	m.close = func() {
		_ = p.Close()
		opened.Close()
	}
	return m
}

// use calls do with the posterior, unless the model is closed.
func (m *Model) use(do func(p *gp.Posterior) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return do(m.posterior)
}

// rows flattens rows to predict. Errors: [*gp.ShapeError].
func (m *Model) rows(x [][]float64) ([]float64, error) {
	columns := len(m.model.FeatureNames)
	i := slices.IndexFunc(x, func(row []float64) bool { return len(row) != columns })
	if i >= 0 {
		return nil, &gp.ShapeError{Numbers: len(x[i]), Rows: 1, Features: columns}
	}
	return slices.Concat(x...), nil
}

// Predict returns the prediction for the rows x, each with all columns of the training table. For
// probabilities other than 95 % see [gp.Prediction.Interval]. For a model with several targets or
// known noise, use the methods PredictTargets and PredictNoise of [Model.Posterior].
//
// Errors: [*gp.ShapeError], [*gp.NameError] if there are several targets, [*gp.NoiseError] if each
// group of rows has its own noise, [*gp.RangeError], [*device.MemoryError], [*device.LostError].
func (m *Model) Predict(ctx context.Context, x [][]float64) (*Prediction, error) {
	return predicted(m, x, func(p *gp.Posterior, rows []float64) (*Prediction, error) {
		all, err := gp.Predict(ctx, p, rows, len(x), gp.RowNoise{})
		if err != nil {
			return nil, err
		}
		return all[0], nil
	})
}

// predicted returns what f computes for rows, of a model with one target.
func predicted[T any](m *Model, x [][]float64, f func(p *gp.Posterior, rows []float64) (T, error)) (out T, err error) {
	if _, err := m.model.TargetNamed(""); err != nil {
		return out, err
	}
	rows, err := m.rows(x)
	if err != nil {
		return out, err
	}
	err = m.use(func(p *gp.Posterior) (err error) {
		out, err = f(p, rows)
		return err
	})
	return out, err
}

// PredictMean returns the means that Predict returns, with the same bits, in about a hundredth
// of the time, because it computes no variances. For a model from a file that predicts only
// means, [gp.Model.Means] also saves the factorization. It returns the errors of Predict.
func (m *Model) PredictMean(ctx context.Context, x [][]float64) ([]float64, error) {
	return predicted(m, x, func(p *gp.Posterior, rows []float64) ([]float64, error) {
		means, err := p.PredictMeans(ctx, rows, len(x))
		if err != nil {
			return nil, err
		}
		return means[0], nil
	})
}

// Sample returns joint draws of the function, without noise, at all rows of x: one
// slice of len(x) values for each draw. The same seed gives the same draws. For m
// rows it takes n²m + nm² + m³ operations and m² numbers on the host. Errors:
// Predict's, [*gp.SizeError] and [gp.ErrNotSemidefinite].
func (m *Model) Sample(ctx context.Context, x [][]float64, draws int, seed uint64) ([][]float64, error) {
	values, err := predicted(m, x, func(p *gp.Posterior, rows []float64) ([]float64, error) {
		joint, err := p.Joint(ctx, rows, len(x), gp.JointOptions{})
		if err != nil {
			return nil, err
		}
		sampler, err := joint.Sampler()
		if err != nil {
			return nil, err
		}
		return sampler.Draw(draws, seed)
	})
	if err != nil || len(x) == 0 {
		return nil, err
	}
	return slices.Collect(slices.Chunk(values, len(x))), nil
}

// LeaveOneOut predicts each training row from all others at the fitted parameters.
// The method Summary of the result returns scores.
func (m *Model) LeaveOneOut(ctx context.Context) (*gp.LeaveOneOut, error) {
	return predicted(m, nil, func(p *gp.Posterior, _ []float64) (*gp.LeaveOneOut, error) { return p.LeaveOneOut(ctx) })
}

// Parameters returns the hyperparameters by name, such as "lengthscale[temp]" and
// "noise_variance". Columns of a table without names have their index, "lengthscale[0]". They are natural values of the standardized problem, as the
// fields Set, Fix and Bounds of [Options] take them. The report of a fit also has
// them in original units.
func (m *Model) Parameters() map[string]float64 { return m.model.Parameters() }

// Report returns the result of the fit: the likelihood and its terms, parameters in both units,
// status and evaluations, scores of held-out rows, and warnings. It is nil for a model from a file.
func (m *Model) Report() *summary.Report { return m.report }

// Warnings returns the ways in which the fit departed from the request, such as a
// constant column or the use of a fallback device.
func (m *Model) Warnings() []string { return slices.Clone(m.warnings) }

// Device returns the name of the device, such as cpu or cuda:0.
func (m *Model) Device() string { return m.device }

// Posterior returns the posterior behind the model, which offers more than Predict:
// terms of a sum of kernels, gradients, covariances, several targets, known noise. It
// is valid until Close and not safe for concurrent use.
func (m *Model) Posterior() *gp.Posterior { return m.posterior }

// Save writes the model to a file, whole or not at all, and then removes the checkpoint of a fit
// that ended. For user-defined kernels, the file contains only the names. Errors: [*gp.FileError].
func (m *Model) Save(path string) error {
	return m.save(func(*gp.Posterior) error { return m.model.Save(path) })
}

// SaveWithFactor is Save with the Cholesky factor, 8n² bytes more, so that loading
// takes no n³ operations. If the method has no factor of all rows, it computes one, which does.
func (m *Model) SaveWithFactor(path string) error {
	return m.save(func(p *gp.Posterior) error {
		if _, ok := p.Workspace().(device.FactorStore); ok {
			return p.SaveWithFactor(path)
		}
		ctx := context.Background()
		opened, err := openAgain(ctx, m, 0, true)
		if err != nil {
			return err
		}
		defer opened.Close()
		dense, err := m.model.Condition(ctx, opened.Backends[0])
		if err != nil {
			return err
		}
		defer dense.Close()
		return dense.SaveWithFactor(path)
	})
}

// openAgain opens the first device of the model for more training rows, with a method that has their factor if that is
// wanted.
func openAgain(ctx context.Context, m *Model, more int, factor bool) (*OpenDevices, error) {
	w, err := m.model.Workload()
	if err != nil {
		return nil, err
	}
	if w.Factor = factor; factor {
		w.N += more
	}
	name, _, _ := strings.Cut(m.device, ",")
	return Devices{Name: name}.Open(ctx, w)
}

func (m *Model) save(write func(*gp.Posterior) error) error {
	return m.use(func(p *gp.Posterior) error {
		if err := write(p); err != nil {
			return err
		}
		return m.saved()
	})
}

// Close frees the memory of the model and its device. The report stays valid. A
// second call does nothing. The error is always nil; it makes a Model an [io.Closer].
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		m.close()
	}
	return nil
}

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
	var out *Model
	var report *summary.UpdateReport
	var opened *OpenDevices
	err := m.use(func(p *gp.Posterior) (err error) {
		_, factor := p.Workspace().(device.FactorStore)
		if opened, err = openAgain(ctx, m, add.N, factor); err != nil {
			return err
		}
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
		if opened != nil {
			opened.Close()
		}
		return nil, nil, err
	}
	return out, report, nil
}
