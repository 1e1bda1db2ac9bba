package gp

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/device"
	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
	"gpfit/mean"
)

// transformedModel returns newModel with a transform of its targets, and its twin without one whose
// targets are the transformed values.
func transformedModel(t testing.TB, kind transform.Name, n int) (m, twin *Model) {
	m, other := newModel(t, n), newModel(t, n)
	m.Scaling = m.Scaling.WithTransform(StandardizeXY, kind, m.Y)
	other.Y = nil
	for _, y := range m.Y {
		other.Y = append(other.Y, m.Scaling.Transform.Forward(y))
	}
	other.Scaling = NewScaling(StandardizeXY, other.X, other.Y, 2)
	return settled(t, m), settled(t, other)
}

// TestTransformed compares predictions, densities, draws and leave-one-out with the twin's, mapped by
// the transform, and the likelihood with its change of variables.
func TestTransformed(t *testing.T) {
	const n, points = 60, 9
	for _, kind := range []transform.Name{transform.Log, transform.BoxCox, transform.YeoJohnson} {
		m, twin := transformedModel(t, kind, n)
		of := m.Scaling.Transform
		rows := newRows(points)
		p, q := condition(t, m), condition(t, twin)
		got, want := testcheck.Get(p.Predict(t.Context(), rows, points))(t), testcheck.Get(q.Predict(t.Context(), rows, points))(t)
		lower, upper := got.Interval(0.5)
		below, above := want.Interval(0.5)
		for i := range points {
			mean, std := of.Moments(want.Mean[i], want.Std[i])
			testcheck.Within(t, got.Mean[i], mean, 1e-9*math.Abs(mean), "%s: mean", kind)
			testcheck.Within(t, got.Std[i], std, 1e-7*std, "%s: deviation", kind)
			testcheck.Within(t, got.Lower95[i], of.Inverse(want.Lower95[i]), 1e-9*math.Abs(mean), "%s: lower bound", kind)
			testcheck.Within(t, lower[i], of.Inverse(below[i]), 1e-9*math.Abs(mean), "%s: lower quartile", kind)
			testcheck.Within(t, upper[i], of.Inverse(above[i]), 1e-9*math.Abs(mean), "%s: upper quartile", kind)
			y := mean + std/3
			testcheck.Within(t, got.Density(i).NegLog(y), want.Density(i).NegLog(of.Forward(y))-of.LogSlope(y), 1e-8, "%s: density", kind)
		}
		function, _ := got.Between(2, 5).Function(0.9)
		latent, _ := want.Between(2, 5).Function(0.9)
		testcheck.Within(t, function[1], of.Inverse(latent[1]), 1e-9*math.Abs(function[1]), "%s: bound of the function", kind)
		means := testcheck.Get(m.Means(t.Context(), backend))(t)
		testcheck.Near(t, "means alone", testcheck.Get(means.PredictMeans(t.Context(), rows, points))(t)[0], got.Mean, 1e-12, 0)
		testcheck.Do(t, means.Close())
		left, other := testcheck.Get(p.LeaveOneOut(t.Context()))(t), testcheck.Get(q.LeaveOneOut(t.Context()))(t)
		volume := 0.0
		for i, y := range m.Y {
			mean, std := of.Moments(other.Mean[i], other.Std[i])
			testcheck.Within(t, left.Mean[i], mean, 1e-8*math.Abs(mean), "%s: mean without row %d", kind, i)
			testcheck.Within(t, left.Std[i], std, 1e-6*std, "%s: deviation without row %d", kind, i)
			testcheck.Within(t, left.Standardized[i], other.Standardized[i], 1e-7, "%s: standardized residual", kind)
			testcheck.Within(t, left.LogDensity[i], other.LogDensity[i]+of.LogSlope(y), 1e-7, "%s: density without row %d", kind, i)
			volume += of.LogSlope(y)
		}
		testcheck.Within(t, m.NLML+n*math.Log(m.Scaling.Unit()), twin.NLML+n*math.Log(twin.Scaling.YScale)-volume, 1e-9*math.Abs(volume), "%s: likelihood", kind)
		draws := func(p *Posterior) []float64 {
			j := testcheck.Get(p.Joint(t.Context(), rows, points, JointOptions{Observed: true}))(t)
			return testcheck.Get(testcheck.Get(j.Sampler())(t).Draw(3, 7))(t)
		}
		for i, v := range draws(q) {
			testcheck.Within(t, draws(p)[i], of.Inverse(v), 1e-6*math.Abs(of.Inverse(v)), "%s: draw", kind)
		}
		_, _, terms := p.Terms(t.Context(), rows, points)
		_, slopes := p.MeanGradient(t.Context(), rows, points)
		_, weights := p.Weights(t.Context())
		for _, err := range []error{terms, slopes, weights} {
			testcheck.Fail[*device.UnsupportedError](t, err, "target-transform "+string(kind), "belong to the transformed target")
		}
	}
}

// TestTransformedExtension adds rows, and compares the deviance with dense matrices.
func TestTransformedExtension(t *testing.T) {
	whole, _ := transformedModel(t, transform.BoxCox, 40)
	part, add := addition(t, whole, 6)
	p, e, err := condition(t, part).Extend(t.Context(), backend, add)
	testcheck.Do(t, err)
	defer p.Close()
	testcheck.Within(t, p.Whole().NLML, whole.NLML, 1e-8*math.Abs(whole.NLML), "likelihood of all rows")
	testcheck.Near(t, "α", p.Whole().Alpha, whole.Alpha, 1e-7, 1e-7)
	d, c := newDense(t, part, add, 0)
	testcheck.Within(t, e.Targets[0].Deviance, distance(t, d, c, matrixrows.All(6)), 1e-7, "deviance of new rows")
}

// TestTransformedFar checks that a row whose target no number holds costs the other rows nothing, and that a new target which the
// transform does not take is an error with its row.
func TestTransformedFar(t *testing.T) {
	m, _ := transformedModel(t, transform.Log, 40)
	m.Mean = Mean{Text: "linear", Basis: mean.Basis{{Group: mean.Linear}}, Coefficients: []float64{900}}
	p := condition(t, m)
	defer p.Close()
	d := len(m.FeatureNames)
	rows := slices.Repeat(slices.Clone(newRows(1)), 2)
	for c := range d {
		rows[d+c] = 1e4
	}
	far := testcheck.Get(p.Predict(t.Context(), rows, 2))(t)
	for _, v := range slices.Concat(far.Mean, far.Std, far.StdLatent, far.Lower95, far.Upper95) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%+v", far)
		}
	}
	if far.Mean[1] != math.MaxFloat64 || len(far.Medians) == 0 {
		t.Errorf("far away: %v, medians %v", far.Mean, far.Medians)
	}
	part, add := addition(t, m, 6)
	add.Y[4] = -2
	_, _, err := part.Extend(t.Context(), backend, add)
	testcheck.Fail[*TargetError](t, err, "of row 5 (from 1) is -2", "log, which needs positive targets")
}

// TestTransformedDraws compares a mixture with its draws, each a model of its own.
func TestTransformedDraws(t *testing.T) {
	m, _ := transformedModel(t, transform.YeoJohnson, 30)
	m.Draws = &Draws{Method: "laplace", Theta: [][]float64{m.Theta, m.Theta}, Noise: [][]float64{{0.05}, {0.2}}, Lambda: []float64{0.4, 1.6}}
	mixture := testcheck.Get(NewMixture(t.Context(), m, backend, 0))(t)
	defer mixture.Close()
	rows := newRows(4)
	got := testcheck.Get(mixture.Predict(t.Context(), rows, 4, RowNoise{}))(t)[0]
	for k, part := range got.Parts {
		one := *m
		one.Draws, one.NoiseVariance, one.Scaling.Transform = nil, m.Draws.Noise[k][0], m.Scaling.Transform.With(m.Draws.Lambda[k])
		want := predict(t, settled(t, &one), rows)
		testcheck.Near(t, "mean of a part", part.Mean, want.Mean, 1e-9, 0)
		testcheck.Near(t, "upper bound of a part", part.Upper95, want.Upper95, 1e-9, 0)
	}
	path := filepath.Join(t.TempDir(), "m.gpfit")
	testcheck.Do(t, m.Save(path))
	if d := cmp.Diff(m, testcheck.Get(Load(path))(t), cmpopts.IgnoreUnexported(Model{})); d != "" {
		t.Error(d)
	}
}

// TestTransformedFile reads a file in the seventh schema version, and refuses damaged transforms.
func TestTransformedFile(t *testing.T) {
	fresh, _ := transformedModel(t, transform.BoxCox, 12)
	m, info, err := Inspect("testdata/v7_transform.gpfit")
	testcheck.Do(t, err)
	if info.SchemaVersion != 7 || newHeader(newModel(t, 5)).SchemaVersion != 2 {
		t.Errorf("version %d with a transform", info.SchemaVersion)
	}
	testcheck.Within(t, m.Scaling.Transform.Lambda, fresh.Scaling.Transform.Lambda, 1e-6, "lambda")
	testcheck.Near(t, "predictions", predict(t, m, newRows(3)).Mean, predict(t, fresh, newRows(3)).Mean, 1e-6, 0)
	for what, change := range map[string]func(*Model){
		"kind":    func(m *Model) { m.Scaling.Transform.Kind = "cube" },
		"lambda":  func(m *Model) { m.Scaling.Transform.Lambda = 3 },
		"target":  func(m *Model) { m.Y = slices.Clone(m.Y); m.Y[3] = -1 },
		"several": func(m *Model) { m.Noise.Column, m.TrainNoise = "v", make([]float64, m.N()) },
		"draws": func(m *Model) {
			m.Draws = &Draws{Theta: [][]float64{m.Theta}, Noise: [][]float64{{1}}, Lambda: []float64{-1}}
		},
	} {
		one := *fresh
		one.Scaling.Transform = fresh.Scaling.Transform.With(fresh.Scaling.Transform.Lambda)
		change(&one)
		_, err := Load(writeUnchecked(t, &one, SchemaVersion))
		if _, ok := errors.AsType[*FileError](err); !ok {
			t.Errorf("%s: error %v", what, err)
		}
	}
}
