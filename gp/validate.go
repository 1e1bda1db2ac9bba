package gp

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// RangeError reports a result that is not a finite number because rows or the model exceed the range of double precision, or a row that the kernel cannot take.
type RangeError struct {
	// What names the result. Row is its row, counted from 0, or −1 if it belongs to the model as a whole.
	What string
	Row  int
	Why  string // what is wrong with a number that is finite
}

func (e *RangeError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("the %s is not a finite number: the scales of the columns are too far apart for double precision; multiply or divide some by a power of ten and fit again", e.What)
	}
	return fmt.Sprintf("the %s of row %d (from 1) %s", e.What, e.Row+1, cmp.Or(e.Why, "is not a finite number: its values are too far from the training data for double precision, or the model's covariance is nearly singular"))
}

// checkResult returns a [*RangeError] for the first number of columns of m rows that is not finite.
func checkResult(what string, m int, columns ...[]float64) error {
	for _, column := range columns {
		if i := firstNonFinite(column); i >= 0 {
			return &RangeError{What: what, Row: i % m}
		}
	}
	return nil
}

// firstNonFinite returns the index of the first NaN or infinity, or −1.
func firstNonFinite(v []float64) int {
	for i, x := range v {
		if x-x != 0 {
			return i
		}
	}
	return -1
}

// checkFinite returns an error if a number of some named parts is not finite.
func checkFinite(parts map[string][]float64) error {
	for name, v := range parts {
		if i := firstNonFinite(v); i >= 0 {
			return fmt.Errorf("element %d of %s is %v, not a finite number", i, name, v[i])
		}
	}
	return nil
}

// Validate checks that the parts of the model are consistent.
func (m *Model) Validate() error {
	d := len(m.Columns)
	prog, err := m.Program()
	if err != nil {
		return err
	}
	if err := prog.CheckTheta(m.Theta); err != nil {
		return err
	}
	switch {
	case m.N() == 0 || d == 0 || len(m.Y)%m.T() != 0 || len(m.X) != m.N()*d || len(m.Alpha) != len(m.Y):
		return fmt.Errorf("%d inputs, %d targets and %d weights for %d columns", len(m.X), len(m.Y), len(m.Alpha), d)
	case m.Approximation != nil && !m.Approximation.valid():
		return fmt.Errorf("an impossible approximation: %+v", *m.Approximation)
	case len(m.ParameterNames) > len(m.Theta):
		return fmt.Errorf("%d names of %d parameters", len(m.ParameterNames), len(m.Theta))
	case len(m.Scaling.XMean) != d || len(m.Scaling.XScale) != d:
		return errors.New("scaling does not fit the columns")
	case m.TrainNoise != nil && len(m.TrainNoise) != m.N() || m.TrainNoise == nil && (m.Noise.Column != "" || len(m.Noise.Labels) > 0):
		return fmt.Errorf("noise variances for %d training rows, but there are %d rows", len(m.TrainNoise), m.N())
	case len(m.Noise.Outlying) > 0 && (slices.Min(m.Noise.Outlying) < 0 || slices.Max(m.Noise.Outlying) >= len(m.TrainNoise)):
		return fmt.Errorf("the outlying rows %v of %d variances", m.Noise.Outlying, len(m.TrainNoise))
	case m.Scaling.Transform != nil && (len(m.Targets) > 0 || m.Noise.Column != ""):
		return errors.New("a transform of the target with several targets or known noise")
	case len(m.Targets) > 0 && m.Noise.Column != "":
		return fmt.Errorf("known noise variances with %d targets", len(m.Targets))
	case !(m.NoiseVariance >= 0) || !(m.Jitter >= 0):
		return fmt.Errorf("noise variance %v, jitter %v", m.NoiseVariance, m.Jitter)
	}
	if m.Rows != nil && len(m.Rows) != m.N() {
		return fmt.Errorf("row numbers for %d training rows, but there are %d rows", len(m.Rows), m.N())
	}
	if i := slices.IndexFunc(m.TrainNoise, func(v float64) bool { return !(v >= 0) }); i >= 0 {
		return fmt.Errorf("noise variance %v of training row %d", m.TrainNoise[i], i)
	}
	err = errors.Join(checkFinite(map[string][]float64{
		"X": m.X, "y": m.Y, "alpha": m.Alpha, "noise": m.TrainNoise, "rows": m.Rows, "theta": m.Theta, "noise_variance and jitter": {m.NoiseVariance, m.Jitter},
	}), m.Mean.validate(d), m.Noise.validate(), m.Draws.validate(m, prog), m.Scaling.validate(m.Y))
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(m.Rows, func(row float64) bool { return row < 0 || row != math.Trunc(row) }); i >= 0 {
		return fmt.Errorf("training row %d has the invalid row number %v", i, m.Rows[i])
	}
	for _, t := range m.Targets {
		if err := t.validate(len(m.Mean.Basis)); err != nil {
			return err
		}
	}
	if m.Encoding != nil {
		if err := m.Encoding.Check(m.FeatureNames); err != nil {
			return err
		}
	}
	return m.inputs().validate()
}

// validate checks that the columns are there, each once.
func (in inputs) validate() error {
	for i, c := range in.Columns {
		if slices.Contains(in.Columns[:i], c) || c < 0 || c >= len(in.FeatureNames) {
			return fmt.Errorf("column %d of %d features, or twice", c, len(in.FeatureNames))
		}
	}
	return nil
}

func (t *Target) validate(basis int) error {
	if len(t.Coefficients) != basis || !(t.YScale > 0) {
		return fmt.Errorf("target %q with %d coefficients of %d basis functions and the scale %v", t.Name, len(t.Coefficients), basis, t.YScale)
	}
	return nil
}

func (z *Noise) validate() error {
	if len(z.Labels) != len(z.Variances) || (z.GroupColumn == "") != (len(z.Labels) == 0) {
		return fmt.Errorf("%d noise variances for %d groups of %q", len(z.Variances), len(z.Labels), z.GroupColumn)
	}
	if len(z.Outlying) != len(z.OutlyingVariances) || !slices.IsSorted(z.Outlying) {
		return fmt.Errorf("%d variances of their own for %d outlying rows", len(z.OutlyingVariances), len(z.Outlying))
	}
	if !(z.OutlyingShare >= 0 && z.OutlyingShare < 1) || z.OutlyingShare > 0 && len(z.Outlying) == 0 {
		return fmt.Errorf("a share %v of outlying observations with %d outlying rows", z.OutlyingShare, len(z.Outlying))
	}
	for _, v := range slices.Concat(z.Variances, z.OutlyingVariances) {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("invalid noise variance %v of a group or an outlying row", v)
		}
	}
	return nil
}

func (m *Mean) validate(columns int) error {
	if err := checkFinite(map[string][]float64{"coefficients": m.Coefficients}); err != nil {
		return err
	}
	if len(m.Coefficients) != len(m.Basis) {
		return fmt.Errorf("%d coefficients for %d basis functions", len(m.Coefficients), len(m.Basis))
	}
	return m.Basis.Validate(columns)
}

// validate checks the draws of a model.
func (d *Draws) validate(m *Model, prog *kernel.Program) error {
	if d == nil {
		return nil
	}
	noise := len(m.Noise.Labels)
	if noise == 0 && m.NoiseVariance > 0 {
		noise = 1
	}
	progs := map[bool]*kernel.Program{false: prog}
	if second := *m; d.Kernel != "" {
		if d.Mean == nil || d.Coefficients != nil || d.From < 0 || d.From > len(d.Theta) {
			return fmt.Errorf("%d draws, from %d on of another model without a mean", len(d.Theta), d.From)
		}
		second.Kernel = d.Kernel
		var err error
		if progs[true], err = second.Program(); err == nil {
			err = d.Mean.validate(len(m.Columns))
		}
		if err != nil {
			return err
		}
	}
	for k, theta := range d.Theta {
		switch {
		case progs[d.other(k)].CheckTheta(theta) != nil:
			return fmt.Errorf("draw %d of the parameters is %v", k, theta)
		case noise > 0 && (len(d.Noise) != len(d.Theta) || len(d.Noise[k]) != noise || firstNonFinite(d.Noise[k]) >= 0 || slices.Min(d.Noise[k]) < 0):
			return fmt.Errorf("draw %d has no %d noise variances", k, noise)
		case d.Coefficients != nil && (len(d.Coefficients) != len(d.Theta) || len(d.Coefficients[k]) != len(m.Mean.Basis) || firstNonFinite(d.Coefficients[k]) >= 0):
			return fmt.Errorf("draw %d has no %d coefficients", k, len(m.Mean.Basis))
		case d.Lambda != nil && (len(d.Lambda) != len(d.Theta) || m.Scaling.Transform == nil || m.Scaling.Transform.With(d.Lambda[k]).Check() != nil):
			return fmt.Errorf("draw %d has no lambda of a transform", k)
		}
	}
	if len(m.Noise.Labels) > 0 && (len(d.Group) != m.N() || slices.Min(d.Group) < 0 || slices.Max(d.Group) >= noise) {
		return fmt.Errorf("the draws have %d groups of %d training rows", len(d.Group), m.N())
	}
	return nil
}

// validate checks the scales, and the transform of the target y.
func (s Scaling) validate(y []float64) error {
	if err := checkFinite(map[string][]float64{"x_mean": s.XMean, "x_scale": s.XScale, "y_mean and y_scale": {s.YMean, s.YScale}}); err != nil {
		return err
	}
	for _, scale := range append([]float64{s.YScale}, s.XScale...) {
		if !(scale > 0) {
			return fmt.Errorf("invalid scale %v", scale)
		}
	}
	wrong := func(t *transform.Map) bool { return t != nil && (t.Kind != transform.YeoJohnson || t.Check() != nil) }
	if x := s.XTransforms; x != nil && len(x) != len(s.XScale) || slices.ContainsFunc(x, wrong) {
		return errors.New("invalid transforms of columns")
	}
	t := s.Transform
	switch {
	case t == nil:
		return nil
	case !slices.ContainsFunc(y, func(y float64) bool { return !t.Contains(y) }):
		return t.Check()
	}
	return fmt.Errorf("target transform %s of a target that is not positive", t.Kind)
}

// checkSize returns a [*SizeError] if the numbers do not fit in the host's memory.
func checkSize(what string, numbers float64, free int64) error {
	need := 8 * numbers
	if free > 0 && need > float64(free) {
		return &SizeError{What: what, Need: int64(min(need, math.MaxInt64/2)), Free: free}
	}
	return nil
}

// SizeError reports a result for which the host lacks memory. It is returned before any allocation.
type SizeError struct {
	// What names the result; Need and Free are the needed and the free bytes.
	What       string
	Need, Free int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s needs %s of memory, but only %s are free: request fewer at once", e.What, device.FormatBytes(e.Need), device.FormatBytes(e.Free))
}
