package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/score"
)

// Addition holds N rows to add to the training rows of a model.
type Addition struct {
	// X holds rows of all features, row-major with one column for every name in
	// FeatureNames; Y holds the targets, N×T column-major. Both are in original units.
	X, Y []float64
	N    int
	// Noise is the known noise of the rows.
	Noise RowNoise
}

// Extension says how a factor was extended and how the model predicted the new rows
// before it knew them.
type Extension struct {
	// Extended means that the earlier rows of the factor were kept, which costs n²m
	// operations for m new rows. Otherwise all of it was computed, which costs n³/3.
	Extended bool
	// Method is the name of the method that computed.
	Method string
	// Targets has the scores of each target.
	Targets []ExtensionScores
}

// ExtensionScores compares new rows with what a model predicts that does not know them, in original units.
type ExtensionScores struct {
	Name string `json:"target"`
	// RMSE, NLPD and Coverage95 are the scores of [Predict], of each row from only the earlier rows.
	RMSE       float64 `json:"rmse"`
	NLPD       float64 `json:"nlpd"`
	Coverage95 float64 `json:"coverage95"`
	// Deviance is (y−μ)ᵀC⁻¹(y−μ) for the joint predictive distribution of the rows that count, with the
	// uncertainty of a mean by least squares in C, a χ² variable with one degree of freedom for each if the model
	// is right. PValue is the two-sided probability. A model with draws has the means over its draws.
	Deviance float64 `json:"deviance"`
	PValue   float64 `json:"p_value"`
	// Outlying counts the rows that do not count, because a robust model has found rows as far out ([Noise.Fits]).
	Outlying int `json:"outlying,omitempty"`
}

// Extend adds rows to the model, at the same parameters and with the same scaling, and
// returns the posterior of the new model. If the model's file has the Cholesky factor
// and the device can, it extends the factor; otherwise it computes all of it. A method without a factor
// computes with all rows, and takes a matrix of the new ones. The model itself does not change. The caller closes
// the posterior.
//
// Errors are [*ShapeError], [*NoiseError], [*TargetError], [*RangeError], [*device.NotPDError] and the
// errors of [Model.Condition].
func (m *Model) Extend(ctx context.Context, b device.Backend, add Addition) (*Posterior, *Extension, error) {
	var read func(device.FactorStore) error
	if m.factorPath != "" {
		read = func(to device.FactorStore) error { return readFactor(m.factorPath, m.N(), to) }
	}
	return add.extend(ctx, m, b, read)
}

// Extend is [Model.Extend] with the factor of the posterior's workspace, which stays as it is.
func (p *Posterior) Extend(ctx context.Context, b device.Backend, add Addition) (*Posterior, *Extension, error) {
	from, ok := p.ws.(device.FactorStore)
	if !ok || !p.formed {
		return p.whole.Extend(ctx, b, add)
	}
	return add.extend(ctx, p.whole, b, func(to device.FactorStore) error {
		return eachBlock(0, p.ws.N(), func(rows []float64, r0, r1 int) error {
			if err := from.ReadFactor(r0, r1, rows); err != nil {
				return err
			}
			return to.WriteFactor(r0, r1, rows)
		})
	})
}

// HasFactor reports whether the file of the model has the Cholesky factor.
func (m *Model) HasFactor() bool { return m.factorPath != "" }

// extend returns the posterior of the model with the new rows. read writes its factor; nil without.
func (add *Addition) extend(ctx context.Context, m *Model, b device.Backend, read func(device.FactorStore) error) (*Posterior, *Extension, error) {
	if m.State.Method != "" {
		return nil, nil, &device.UnsupportedError{Method: m.State.Method, What: "an update: fit the rows together"}
	}
	if err := add.checkTargets(m); err != nil {
		return nil, nil, err
	}
	grown, err := add.to(m)
	scores, averages := &scored{add: add, before: m, of: make([]scoredTarget, m.T())}, m.Draws.Len() > 0
	if err == nil && averages { // before the memory for all rows is in use
		err = scores.seeEarlier(ctx, b)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := newSystem(grown, b)
	if err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	e := &Extension{Method: s.ws.Method()}
	if e.Extended, err = s.formFrom(ctx, m.N(), read); err == nil && !averages {
		if factor, ok := s.ws.(factored); ok {
			err = scores.see(s.foreseen(ctx, factor, m.N()))
		} else {
			err = scores.seeEarlier(ctx, b)
		}
	}
	if err == nil {
		e.Targets, err = scores.scores()
	}
	if err == nil {
		err = s.settle(ctx)
	}
	if err == nil {
		err = grown.Validate()
	}
	if err != nil {
		_ = s.close()
		return nil, nil, err
	}
	return s.posterior(), e, nil
}

// to returns the model with more rows, whose weights are still to be found.
func (add *Addition) to(m *Model) (*Model, error) {
	t := m.T()
	used, err := m.inputs().used(add.X, add.N)
	if add.N < 1 || len(add.Y) != add.N*t {
		return nil, &ShapeError{Numbers: len(add.X), Rows: add.N, Features: len(m.FeatureNames)}
	}
	if err := errors.Join(err, checkResult("new feature", len(add.X), add.X), checkResult("new target", add.N, add.Y)); err != nil {
		return nil, err
	}
	if m.Noise.Column != "" && add.Noise.Known == nil {
		return nil, &NoiseError{-1, fmt.Sprintf("the model was fitted with the known noise variances of the column %q, but the new rows have none", m.Noise.Column)}
	}
	if m.Noise.WeightColumn != "" && add.Noise.Weight == nil {
		return nil, &NoiseError{-1, fmt.Sprintf("the model was fitted with the weights of the column %q, but the new rows have none", m.Noise.WeightColumn)}
	}
	if i := slices.Index(add.Noise.Weight, 0); i >= 0 {
		return nil, &NoiseError{i, "the weight is 0: leave out such rows"}
	}
	noise, err := add.Noise.Variances(m, add.N)
	if err != nil {
		return nil, err
	}
	grown, n := *m, m.N()
	// The draws are of a posterior that did not know the new rows.
	grown.factorPath, grown.Record, grown.Draws = "", nil, nil
	grown.X = slices.Concat(m.X, used)
	grown.Y = nil
	for k := range t {
		grown.Y = append(append(grown.Y, m.Y[k*n:(k+1)*n]...), add.Y[k*add.N:(k+1)*add.N]...)
	}
	grown.Alpha = make([]float64, len(grown.Y))
	if m.TrainNoise != nil {
		grown.TrainNoise = slices.Concat(m.TrainNoise, noise)
	}
	grown.Rows = add.rowNumbers(m)
	return &grown, nil
}

// rowNumbers returns the numbers of the rows of the model with the new ones. They continue
// the table's numbers, as if the new rows followed it.
func (add *Addition) rowNumbers(m *Model) []float64 {
	if m.Rows == nil {
		return nil
	}
	next := slices.Max(m.Rows) + 1
	if m.HeldOut != nil {
		for _, row := range m.HeldOut.Rows {
			next = max(next, float64(row)+1)
		}
	}
	rows := slices.Clone(m.Rows)
	for i := range add.N {
		rows = append(rows, next+float64(i))
	}
	return rows
}

// formFrom forms the workspace from the first known rows of the factor, which read
// writes, and reports whether it used them. It computes all of the factor if read is nil
// or the workspace cannot extend one.
func (s *system) formFrom(ctx context.Context, known int, read func(device.FactorStore) error) (bool, error) {
	extender, ok := s.ws.(device.FactorExtender)
	if read == nil || !ok {
		return false, s.form(ctx)
	}
	if err := read(&widened{FactorStore: extender, known: known, n: s.x.N}); err != nil {
		return false, err
	}
	s.formed = true
	return true, extender.ExtendFactor(ctx, s.prog, s.theta, s.whole.NoiseDiagonal(), known)
}

// widened writes the rows of a factor of known rows to one of n.
type widened struct {
	device.FactorStore
	known, n int
	rows     []float64
}

// WriteFactor implements [device.FactorStore].
func (w *widened) WriteFactor(r0, r1 int, src []float64) error {
	if need := (r1 - r0) * w.n; len(w.rows) < need {
		w.rows = make([]float64, need)
	}
	for i := range r1 - r0 {
		copy(w.rows[i*w.n:], src[i*w.known:(i+1)*w.known])
	}
	return w.FactorStore.WriteFactor(r0, r1, w.rows)
}

// settle finds the weights, the coefficients of a mean by least squares and the NLML
// for the factor in the workspace.
func (s *system) settle(ctx context.Context) error {
	if _, err := s.leastSquares(ctx); err != nil {
		return err
	}
	m, n := s.whole, s.x.N
	h := m.Mean.Basis.Evaluate(s.x)
	m.Targets, m.NLML = slices.Clone(m.Targets), 0
	rest := make([]float64, 0, len(m.Y))
	for t := range m.T() {
		one := m.Target(t)
		y, beta := one.Scaling.Targets(one.Y), one.Mean.Coefficients
		if s.gls != nil {
			beta = s.gls.Coefficients(y)
		}
		for j, b := range beta {
			floats.AddScaled(y, -b, h[j*n:(j+1)*n])
		}
		if t == 0 {
			m.Mean.Coefficients = beta
		}
		if len(m.Targets) > 0 {
			m.Targets[t].Coefficients = beta
		}
		rest = append(rest, y...)
	}
	m.Alpha = slices.Clone(rest)
	if err := s.ws.Solve(ctx, m.Alpha, m.T()); err != nil {
		return err
	}
	logDet, _, err := s.ws.LogDet() // a solution may have changed it
	if err != nil {
		return err
	}
	wanted := Approximation{Tolerance: device.DefaultTolerance}
	if a := m.Approximation; a != nil {
		wanted = *a
	}
	corrections := []float64(nil)
	if m.Approximation, corrections, err = wanted.Of(ctx, s.ws, rest, m.Alpha, m.T()); err != nil {
		return err
	}
	for t := range m.T() {
		fit := floats.Dot(rest[t*n:(t+1)*n], m.Alpha[t*n:(t+1)*n])
		if corrections != nil {
			fit += 2 * corrections[t]
		}
		nlml := score.NegLogNormal(fit, logDet, n) + m.Scaling.Volume(m.Y)
		m.NLML += nlml
		if len(m.Targets) > 0 {
			m.Targets[t].NLML = nlml
		}
	}
	if math.IsInf(m.NLML, 0) || math.IsNaN(m.NLML) {
		return &RangeError{What: "likelihood of the extended model", Row: -1}
	}
	return nil
}

// TargetError reports a new target outside of what the transform of a model takes, in a row counted from 0.
type TargetError struct {
	Name, Transform string
	Row             int
	Value           float64
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("the target %q of row %d (from 1) is %g, but the model has its %s, which needs positive targets: fit with option target-transform yeojohnson or none", e.Name, e.Row+1, e.Value, e.Transform)
}

// checkTargets returns a [*TargetError] for a target that the transform of the model does not take.
func (add *Addition) checkTargets(m *Model) error {
	for t, name := range m.TargetNames() {
		of := m.Target(t).Scaling.Transform
		for i, y := range add.Y[min(t*add.N, len(add.Y)):min((t+1)*add.N, len(add.Y))] {
			if of != nil && !of.Contains(y) {
				return &TargetError{Name: name, Transform: string(of.Kind), Row: i, Value: y}
			}
		}
	}
	return nil
}
