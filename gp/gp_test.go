package gp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/must"
	"gpfit/mean"
)

var backend, _ = cpu.New(device.Options{Threads: 2})

// newModel returns a model of n rows with one unused feature and a linear mean, and
// with the weights of the posterior.
func newModel(t testing.TB, n int) *Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	m := &Model{
		Kernel: "rbf(ard) + matern32", Columns: []int{0, 2}, FeatureNames: []string{"a", "unused", "c"}, TargetName: "y",
		ParameterNames: []string{"k1.lengthscale[0]", "k1.lengthscale[2]", "k1.signal_variance", "k2.lengthscale", "k2.signal_variance"},
		Theta:          []float64{0.7, 1.4, 1.2, 3, 0.5}, NoiseVariance: 0.05,
		Mean: Mean{Text: "linear", Coefficients: []float64{-0.2, 0.1, 0.3}, Basis: mean.Basis{
			{Group: mean.Linear, Index: 1}, {Group: mean.Linear, Column: 1, Label: 2, Index: 1}, {Group: mean.Constant},
		}},
		NLML: 12.5, Status: "converged",
	}
	for range n {
		a, c := 10*rng.NormFloat64(), 5+rng.NormFloat64()
		m.X = append(m.X, a, c)
		m.Y = append(m.Y, 100+3*math.Sin(a/5)+c+0.2*rng.NormFloat64())
	}
	m.Scaling = NewScaling(StandardizeXY, m.X, m.Y, 2)
	m.Alpha = make([]float64, n)
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	scaled := m.Scaling.Inputs(m.X)
	for i, y := range m.Scaling.Targets(m.Y) {
		m.Alpha[i] = y - 0.3 + 0.2*scaled[2*i] - 0.1*scaled[2*i+1]
	}
	must.Do(t, p.Workspace().Solve(context.Background(), m.Alpha, 1))
	return m
}

func newRows(m int) []float64 {
	rng := rand.New(rand.NewPCG(8, 8))
	rows := make([]float64, 3*m)
	for i := range rows {
		rows[i] = 5 * rng.NormFloat64()
	}
	return rows
}

func predict(t testing.TB, m *Model, rows []float64) *Prediction {
	t.Helper()
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	out := must.Get(p.Predict(context.Background(), rows, len(rows)/3))(t)
	return out
}

// TestPredict compares with an explicit inverse.
func TestPredict(t *testing.T) {
	const n, points = 60, 25
	m := newModel(t, n)
	rows := newRows(points)
	got := predict(t, m, rows)
	ref := newReference(t, m)
	for p := range points {
		x := []float64{rows[3*p], rows[3*p+2]}
		wantMean, latent := ref.posteriorMean(x), ref.posteriorCov(x, x)
		wantStd := math.Sqrt(latent + ref.noise)
		// The matrix has a condition number near 1e4: 1e-9 leaves room.
		if math.Abs(got.Mean[p]-wantMean) > 1e-9*math.Abs(wantMean) || math.Abs(got.Std[p]-wantStd) > 1e-8*wantStd ||
			math.Abs(got.StdLatent[p]*got.StdLatent[p]-latent) > 1e-8*wantStd*wantStd {
			t.Errorf("row %d: mean %v, std %v, latent %v; want %v, %v, %v", p, got.Mean[p], got.Std[p], got.StdLatent[p], wantMean, wantStd, math.Sqrt(latent))
		}
		if half := (got.Upper95[p] - got.Lower95[p]) / 2; math.Abs(half/got.Std[p]-1.959964) > 1e-6 {
			t.Errorf("row %d: half interval %v for std %v", p, half, got.Std[p])
		}
	}
	// Φ(1.2815515655) − Φ(−1.2815515655) = 0.8.
	lower, upper := got.Interval(0.8)
	for p := range points {
		if math.Abs((upper[p]-got.Mean[p])/got.Std[p]-1.2815515655) > 1e-9 || math.Abs((got.Mean[p]-lower[p])/got.Std[p]-1.2815515655) > 1e-9 {
			t.Errorf("row %d: 80 %% interval %v to %v around %v ± %v", p, lower[p], upper[p], got.Mean[p], got.Std[p])
		}
	}
}

// TestAtTrainingPoints checks that with tiny noise the posterior interpolates the
// data.
func TestAtTrainingPoints(t *testing.T) {
	m := newModel(t, 30)
	m.NoiseVariance = 1e-8
	m.Mean = Mean{}
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	m.Alpha = m.Scaling.Targets(m.Y)
	must.Do(t, p.Workspace().Solve(context.Background(), m.Alpha, 1))
	var rows []float64
	for i := range 30 {
		rows = append(rows, m.X[2*i], -1, m.X[2*i+1])
	}
	got := must.Get(p.Predict(context.Background(), rows, 30))(t)
	for i, y := range m.Y {
		if math.Abs(got.Mean[i]-y) > 1e-4 || got.StdLatent[i] > 1e-3*m.Scaling.YScale {
			t.Errorf("row %d: %v ± %v, data %v", i, got.Mean[i], got.StdLatent[i], y)
		}
	}
}

func equalModels(a, b *Model) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Model{}))
}

func TestSaveLoad(t *testing.T) {
	m := newModel(t, 70)
	rows := newRows(40)
	want := predict(t, m, rows)
	path := filepath.Join(t.TempDir(), "m.gpfit")
	must.Do(t, m.Save(path))
	again := must.Get(Load(path))(t)
	if diff := equalModels(m, again); diff != "" {
		t.Errorf("saved and loaded models differ:\n%s", diff)
	}
	if diff := cmp.Diff(want, predict(t, again, rows)); diff != "" {
		t.Errorf("predictions differ in their bits:\n%s", diff)
	}
	// With the factor, which is then read instead of computed.
	p, err := m.Condition(context.Background(), backend)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	must.Do(t, p.SaveWithFactor(path))
	if again, err = Load(path); err != nil {
		t.Fatal(err)
	}
	q := must.Get(again.Condition(context.Background(), backend))(t)
	defer q.Close()
	if f := q.Workspace().Work().Flops; f != 0 {
		t.Errorf("%v operations though the factor is in the file", f)
	}
	got := must.Get(q.Predict(context.Background(), rows, 40))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("predictions with a stored factor differ:\n%s", diff)
	}
}

// TestDamage checks that any changed bit and any lost byte of a model file is
// detected.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.gpfit")
	must.Do(t, newModel(t, 5).Save(path))
	whole := must.Get(os.ReadFile(path))(t)
	refused := func(what string, text []byte) {
		t.Helper()
		_, err := loadFrom(bytes.NewReader(text), int64(len(text)), "bad.gpfit", nil)
		var fe *FileError
		if !errors.As(err, &fe) {
			t.Fatalf("%s: error %v, want a FileError", what, err)
		}
	}
	for i := range whole {
		for bit := range 8 {
			if testing.Short() && (i+bit)%8 != 0 {
				continue
			}
			text := slices.Clone(whole)
			text[i] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d changed", bit, i), text)
		}
	}
	t.Logf("%d bits", 8*len(whole))
	for i := 0; i < len(whole); i += 11 {
		refused("a truncated file", whole[:i])
	}
	refused("a file without its last byte", whole[:len(whole)-1])
	refused("appended text", append(slices.Clone(whole), 'x'))
	refused("a table", []byte("x,y\n1,2\n3,4\n"+strings.Repeat("5,6\n", 100)))
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestNewerVersion reads an intact file of a later version.
func TestNewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gpfit")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, errors.Join(writeModel(newModel(t, 5), f, nil, SchemaVersion+1), f.Close()))
	_, err = Load(path)
	var fe *FileError
	if !errors.As(err, &fe) || !strings.Contains(fe.Msg, "newer gpfit") {
		t.Errorf("error %v, want one that names the version", err)
	}
}

// TestVersion1 reads a file written by the first release.
func TestVersion1(t *testing.T) {
	m := must.Get(Load("testdata/v1.gpfit"))(t)
	if diff := equalModels(m, newModel(t, 12)); diff != "" {
		// The weights depend on the CPU that wrote the file; the rest is exact.
		fresh := newModel(t, 12)
		if diff := cmp.Diff(m, fresh, cmpopts.IgnoreUnexported(Model{}), cmpopts.IgnoreFields(Model{}, "Alpha")); diff != "" {
			t.Error(diff)
		}
		for i := range m.Alpha {
			if math.Abs(m.Alpha[i]-fresh.Alpha[i]) > 1e-9*(1+math.Abs(m.Alpha[i])) {
				t.Fatalf("α[%d] = %v, want %v", i, m.Alpha[i], fresh.Alpha[i])
			}
		}
	}
	if got := predict(t, m, newRows(3)); math.Abs(got.Mean[0]-predict(t, newModel(t, 12), newRows(3)).Mean[0]) > 1e-8*100 {
		t.Errorf("prediction %v", got.Mean)
	}
}

func TestScaling(t *testing.T) {
	x := []float64{1, 7, 2, 7, 3, 7, 4, 7}
	y := []float64{10, 20, 30, 40}
	s := NewScaling(StandardizeXY, x, y, 2)
	want := Scaling{XMean: []float64{2.5, 7}, XScale: []float64{math.Sqrt(1.25), 1}, YMean: 25, YScale: math.Sqrt(125)}
	if diff := cmp.Diff(want, s, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
		t.Error(diff)
	}
	if got := s.Inputs(x); math.Abs(got[0]+1.5/math.Sqrt(1.25)) > 1e-15 || got[1] != 0 {
		t.Errorf("scaled inputs %v", got)
	}
	for how, want := range map[Standardize]Scaling{
		StandardizeX:    {XMean: s.XMean, XScale: s.XScale, YScale: 1},
		StandardizeY:    {XMean: []float64{0, 0}, XScale: []float64{1, 1}, YMean: s.YMean, YScale: s.YScale},
		StandardizeNone: {XMean: []float64{0, 0}, XScale: []float64{1, 1}, YScale: 1},
	} {
		if diff := cmp.Diff(want, NewScaling(how, x, y, 2)); diff != "" {
			t.Errorf("%s: %s", how, diff)
		}
	}
	if _, err := ParseStandardize("yx"); err == nil {
		t.Error("yx accepted")
	}
}

func TestInvalid(t *testing.T) {
	for what, change := range map[string]func(*Model){
		"kernel":  func(m *Model) { m.Kernel = "rbv" },
		"theta":   func(m *Model) { m.Theta = m.Theta[1:] },
		"alpha":   func(m *Model) { m.Alpha = m.Alpha[1:] },
		"scaling": func(m *Model) { m.Scaling.XMean = nil },
		"feature": func(m *Model) { m.Columns = []int{0, 3} },
		"mean":    func(m *Model) { m.Mean.Coefficients = []float64{1} },
		"basis":   func(m *Model) { m.Mean.Basis[0].Column = 2 },
		"row":     func(m *Model) { m.TrainNoise = []float64{1} },
		"column":  func(m *Model) { m.Noise.Column = "variance" },
		"group":   func(m *Model) { m.Noise.Labels = []string{"a"} },
		"noise":   func(m *Model) { m.NoiseVariance = math.NaN() },
	} {
		m := newModel(t, 5)
		change(m)
		if err := m.Save(filepath.Join(t.TempDir(), "m")); err == nil {
			t.Errorf("a model with a bad %s was saved", what)
		}
	}
	p := must.Get(newModel(t, 5).Condition(context.Background(), backend))(t)
	defer p.Close()
	if _, err := p.Predict(context.Background(), make([]float64, 4), 2); err == nil {
		t.Error("rows of two features accepted for three")
	}
}
