package gp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest/testmethod"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/mean"
	"gpfit/method/experts"
)

var backend = experts.Undivided{Backend: onCPU()}

func onCPU() device.Backend {
	b, err := cpu.New(device.Options{Threads: 2})
	if err != nil {
		panic(err)
	}
	return b
}

// newModel returns a model of n rows with one unused feature, a linear mean and its weights.
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
	weigh(t, m)
	return m
}

func newRows(m int) []float64 {
	rng := rand.New(rand.NewPCG(8, 8))
	return testcheck.Slice(3*m, func(int) float64 { return 5 * rng.NormFloat64() })
}

func predict(t testing.TB, m *Model, rows []float64) *Prediction {
	t.Helper()
	p := condition(t, m)
	return testcheck.Get(p.Predict(t.Context(), rows, len(rows)/3))(t)
}

// TestPredict compares with an explicit inverse.
func TestPredict(t *testing.T) {
	const n, points = 60, 25
	m := newModel(t, n)
	rows := newRows(points)
	got := predict(t, m, rows)
	ref := newReference(t, m)
	for p := range points {
		x := used(rows, p)
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

// TestAtTrainingPoints checks that with tiny noise the posterior interpolates the data.
func TestAtTrainingPoints(t *testing.T) {
	m := newModel(t, 30)
	m.NoiseVariance = 1e-8
	m.Mean = Mean{}
	weigh(t, m)
	p := condition(t, m)
	var rows []float64
	for i := range 30 {
		rows = append(rows, m.X[2*i], -1, m.X[2*i+1])
	}
	got := testcheck.Get(p.Predict(t.Context(), rows, 30))(t)
	testcheck.Near(t, "means", got.Mean, m.Y, 0, 1e-4)
	testcheck.Near(t, "deviations", got.StdLatent, make([]float64, 30), 0, 1e-3*m.Scaling.YScale)
}

func equalModels(a, b *Model) string { return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Model{})) }

// saved writes a model and returns the path of the file.
func saved(t *testing.T, save func(path string) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gpfit")
	testcheck.Do(t, save(path))
	return path
}

func TestSaveLoad(t *testing.T) {
	m := newModel(t, 70)
	rows := newRows(40)
	want := predict(t, m, rows)
	again := testcheck.Get(Load(saved(t, m.Save)))(t)
	if diff := equalModels(m, again); diff != "" {
		t.Errorf("saved and loaded models differ:\n%s", diff)
	}
	if diff := cmp.Diff(want, predict(t, again, rows)); diff != "" {
		t.Errorf("predictions differ in their bits:\n%s", diff)
	}
	// With the factor, which is then read instead of computed.
	q := condition(t, testcheck.Get(Load(saved(t, condition(t, m).SaveWithFactor)))(t))
	if f := q.Workspace().Work().Flops; f != 0 {
		t.Errorf("%v operations though the factor is in the file", f)
	}
	got := testcheck.Get(q.Predict(t.Context(), rows, 40))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("predictions with a stored factor differ:\n%s", diff)
	}
}

// TestDamage checks that any changed bit and any lost byte of a model file is detected, in the short form two bits of each byte.
func TestDamage(t *testing.T) {
	var file bytes.Buffer
	testcheck.Do(t, newModel(t, 5).Write(&file))
	whole := file.Bytes()
	refused := func(what string, text []byte) {
		t.Helper()
		if _, _, err := load(bytes.NewReader(text), int64(len(text)), "bad.gpfit", nil, nil); err == nil {
			t.Fatalf("%s was read", what)
		}
	}
	for i := range whole {
		for bit := range 8 {
			if !testcheck.Long() && (i+bit)%4 != 0 {
				continue
			}
			text := bytes.Clone(whole)
			text[i] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d changed", bit, i), text)
		}
	}
	t.Logf("%d bits", 8*len(whole))
	for i := 0; i < len(whole); i += 11 {
		refused("a truncated file", whole[:i])
	}
	refused("a file without its last byte", whole[:len(whole)-1])
	refused("appended text", append(bytes.Clone(whole), 'x'))
	refused("a table", []byte("x,y\n1,2\n3,4\n"+strings.Repeat("5,6\n", 100)))
}

// TestNewerVersion reads an intact file of a later version.
func TestNewerVersion(t *testing.T) {
	_, err := Load(writeUnchecked(t, newModel(t, 5), SchemaVersion+1))
	var fe *FileError
	if !errors.As(err, &fe) || !strings.Contains(fe.Msg, "newer gpfit") {
		t.Errorf("error %v, want one that names the version", err)
	}
}

// loadsAs loads a file of testdata and compares it with a fresh model. The weights depend on the
// CPU that wrote the file; the rest is exact.
func loadsAs(t *testing.T, name string, fresh *Model) *Model {
	t.Helper()
	m := testcheck.Get(Load("testdata/" + name + ".gpfit"))(t)
	if diff := cmp.Diff(fresh, m, cmpopts.IgnoreUnexported(Model{}), cmpopts.IgnoreFields(Model{}, "Alpha")); diff != "" {
		t.Error(diff)
	}
	testcheck.Near(t, "α", m.Alpha, fresh.Alpha, 1e-9, 1e-9)
	return m
}

// TestVersion1 reads a file written by the first release.
func TestVersion1(t *testing.T) {
	m := loadsAs(t, "v1", newModel(t, 12))
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
		"names":   func(m *Model) { m.ParameterNames = append(m.ParameterNames, "one_more") },
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
	p := testcheck.Get(newModel(t, 5).Condition(t.Context(), backend))(t)
	defer p.Close()
	if _, err := p.Predict(t.Context(), make([]float64, 4), 2); err == nil {
		t.Error("rows of two features accepted for three")
	}
}

// TestCoverage draws many small problems from known processes, predicts one row of each from the
// others, and counts how often intervals hold it. The problems are independent, so the counts are
// binomial. The limit is four standard errors, which a new seed exceeds by chance once in 16,000.
func TestCoverage(t *testing.T) {
	const problems, n = 3000, 12
	rng := rand.New(rand.NewPCG(2006, 19))
	levels := []float64{0.5, 0.9, 0.95}
	counts := make([]int, len(levels))
	kernels := []struct {
		text  string
		theta []float64
	}{{"rbf", []float64{0.8, 1.5}}, {"matern32(ard)", []float64{1, 3, 0.7}}, {"matern52 + matern12", []float64{2, 1, 0.5, 0.3}}}
	for range problems {
		k := kernels[rng.IntN(len(kernels))]
		noise := math.Exp(-4 * rng.Float64())
		x := testcheck.Slice(2*(n+1), func(int) float64 { return 2 * rng.NormFloat64() })
		prog := kerneltest.Program(t, k.text, 2)
		variances := slices.Repeat([]float64{noise}, n+1)
		prior := testcheck.Get(covariance{prog, k.theta}.prior(t.Context(), kernel.NewPoints(x, n+1, 2), variances))(t)
		sampler := testcheck.Get(prior.Sampler())(t)
		y := mustDraw(t, sampler, 1, rng.Uint64())
		// Use other units, to check the scaling.
		m := &Model{
			Kernel: k.text, Columns: []int{0, 1}, FeatureNames: []string{"a", "b"}, Theta: k.theta, NoiseVariance: noise,
			Scaling: Scaling{XMean: []float64{0, 0}, XScale: []float64{1, 1}, YMean: 7, YScale: 3}, X: x[:2*n],
		}
		last := 7 + 3*y[n]
		m.Y = testcheck.Slice(n, func(i int) float64 { return 7 + 3*y[i] })
		m.Alpha = m.Scaling.Targets(m.Y)
		p := testcheck.Get(m.Condition(t.Context(), backend))(t)
		testcheck.Do(t, p.Workspace().Solve(t.Context(), m.Alpha, 1))
		got := testcheck.Get(p.Predict(t.Context(), x[2*n:], 1))(t)
		p.Close()
		for i, level := range levels {
			if lower, upper := got.Interval(level); lower[0] <= last && last <= upper[0] {
				counts[i]++
			}
		}
	}
	for i, level := range levels {
		share, limit := float64(counts[i])/problems, 4*math.Sqrt(level*(1-level)/problems)
		t.Logf("%2.0f %% intervals hold %.2f %% of targets", 100*level, 100*share)
		if math.Abs(share-level) > limit {
			t.Errorf("%.0f %% intervals hold %.2f %% of targets, limit ±%.2f %%", 100*level, 100*share, 100*limit)
		}
	}
}

// tent is a custom kernel, Π exp(−|Δ_c|/w).
var tent = &kernel.Family{
	Name: "tent", Parameters: []kernel.Parameter{{Name: "width"}},
	Function: func(p *kernel.Pair) *kernel.Node {
		sum := p.Number(0)
		for _, difference := range p.Differences() {
			sum = p.Add(sum, p.Abs(difference))
		}
		return p.Exp(p.Neg(p.Div(sum, p.Parameter("width"))))
	},
}

// TestOtherMethod checks that a method without a factor can use a model file that
// has one, with the same predictions, and returns errors for missing capabilities.
func TestOtherMethod(t *testing.T) {
	ctx, rows := t.Context(), newRows(20)
	m := newModel(t, 40)
	path := saved(t, condition(t, m).SaveWithFactor)
	loaded := testcheck.Get(Load(path))(t)
	other := testcheck.Get(loaded.Condition(ctx, testmethod.New()))(t)
	defer other.Close()
	want := predict(t, m, rows)
	got := testcheck.Get(other.Predict(ctx, rows, 20))(t)
	// The condition number is near 1e4, as in TestPredict.
	testcheck.Near(t, "means", got.Mean, want.Mean, 1e-9, 0)
	testcheck.Near(t, "deviations", got.Std, want.Std, 1e-8, 0)
	_, joint := other.Joint(ctx, rows, 20, JointOptions{})
	for what, err := range map[string]error{"joint": joint, "factor": other.SaveWithFactor(path)} {
		var unsupported *device.UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Method != "textbook" {
			t.Errorf("%s: error %v, want an UnsupportedError", what, err)
		}
	}
}
