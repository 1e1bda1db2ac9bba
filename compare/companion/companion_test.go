package companion_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/compare/companion"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// table returns n rows of d columns, of which the model uses all but the first, with their targets.
func table(n, d int) (rows, y []float64, like *gp.Model) {
	rng := rand.New(rand.NewPCG(4, 5))
	like = &gp.Model{TargetName: "y"}
	for c := range d {
		like.FeatureNames = append(like.FeatureNames, string(rune('a'+c)))
		if c > 0 {
			like.Columns = append(like.Columns, c)
		}
	}
	var used []float64
	for range n {
		row := testcheck.Slice(d, func(int) float64 { return 20 + 3*rng.NormFloat64() })
		rows, used = append(rows, row...), append(used, row[1:]...)
		y = append(y, 100+row[1]+math.Sin(row[d-1])+0.1*rng.NormFloat64())
	}
	like.Scaling = gp.NewScaling(gp.StandardizeXY, used, y, d-1)
	return rows, y, like
}

// fitted returns a method fitted to a table.
func fitted(t *testing.T, m baseline.Method, n, d int) (f *companion.Regression, rows []float64) {
	t.Helper()
	rows, y, like := table(n, d)
	var used []float64
	for row := range slices.Chunk(rows, d) {
		used = append(used, row[1:]...)
	}
	model := testcheck.Get(m.Fit(mat.NewDense(n, d-1, like.Scaling.Inputs(used)), like.Scaling.Targets(y)))(t)
	return testcheck.Get(companion.New("m", model, n, like, map[string]float64{"lambda": 1}))(t), rows
}

// TestFiles writes each method and compares the predictions of what it reads, bit by bit, and the linear
// functions of weights in original units with the predictions.
func TestFiles(t *testing.T) {
	unscaled := baseline.Design{Unscaled: true, NoIntercept: true}
	for name, c := range map[string]struct {
		method  baseline.Method
		n, d    int
		density bool
	}{
		"mean":            {baseline.Averaging{}, 12, 3, true},
		"ridge":           {baseline.Ridge{}, 12, 3, false},
		"lasso":           {baseline.Lasso{Seed: 1}, 20, 5, false},
		"bayesian linear": {baseline.BayesianLinear{}, 12, 3, true},
		"without level":   {baseline.BayesianLinear{Design: unscaled}, 12, 3, true},
		"wide":            {baseline.BayesianLinear{Noise: 0.1, PriorScale: 1}, 6, 10, true},
		"spline":          {baseline.Spline{}, 30, 3, true},
		"cubic":           {baseline.Spline{Kind: baseline.CubicSpline}, 30, 2, true},
		"hinges":          {baseline.Spline{Design: unscaled, Kind: baseline.HingeSpline, Lambdas: []float64{0}}, 30, 2, true},
		"few values":      {baseline.Spline{Lambdas: []float64{1}}, 4, 2, true},
		"products":        {baseline.Basis{}, 30, 4, true},
		"bumps":           {baseline.Basis{Expansion: baseline.Gaussians{}}, 30, 3, true},
		"kernel ridge":    {baseline.KernelRidge{}, 15, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, rows := fitted(t, c.method, c.n, c.d)
			path := filepath.Join(t.TempDir(), "m.json")
			testcheck.Do(t, f.Save(t.Context(), path, false))
			if err := f.Save(t.Context(), path, false); err == nil {
				t.Error("the file was replaced without leave")
			}
			if !companion.Is(path) {
				t.Error("the file is not recognized")
			}
			got, _, err := companion.Load(path)
			testcheck.Do(t, err)
			want, have := testcheck.Get(f.Predict(rows, c.n))(t), testcheck.Get(got.Predict(rows, c.n))(t)
			if !slices.Equal(want.Mean, have.Mean) || !slices.Equal(want.Std, have.Std) || !slices.Equal(want.Upper95, have.Upper95) {
				t.Errorf("predictions differ: %v, %v", want, have)
			}
			if got.HasDensity() != c.density || (have.Std != nil) != c.density {
				t.Errorf("density %v, deviations %v", got.HasDensity(), have.Std)
			}
			if got.Weights == nil {
				return
			}
			for i, mean := range have.Mean {
				sum := *got.Intercept
				for k, name := range got.FeatureNames {
					sum += got.Weights[name] * rows[i*c.d+k]
				}
				if math.Abs(sum-mean) > 1e-10*math.Abs(mean) {
					t.Errorf("row %d: %v by weights, %v predicted", i, sum, mean)
				}
			}
		})
	}
}

// TestDamage changes each byte of a file: no reader takes it.
func TestDamage(t *testing.T) {
	f, _ := fitted(t, baseline.Ridge{}, 12, 3)
	var text bytes.Buffer
	testcheck.Do(t, f.Write(&text))
	path := filepath.Join(t.TempDir(), "m.json")
	check := func(what string, damaged []byte) {
		testcheck.Do(t, os.WriteFile(path, damaged, 0o600))
		_, _, err := companion.Load(path)
		if wrong := (*gp.FileError)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", what, err)
		}
	}
	whole := text.Bytes()
	for i := range len(whole) - 4 { // the end is a quote, a brace and ends of lines
		damaged := slices.Clone(whole)
		damaged[i] ^= 1
		check("a changed byte", damaged)
		if i%7 == 0 {
			check("a file cut off", whole[:i])
		}
	}
}

// TestParts reads files with a right checksum whose parts do not fit together.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		method baseline.Method
		change func(f *companion.Regression)
	}{
		"column":    {baseline.Ridge{}, func(f *companion.Regression) { f.Columns[0] = 9 }},
		"scale":     {baseline.Ridge{}, func(f *companion.Regression) { f.Scaling.XScale[0] = 0 }},
		"weights":   {baseline.Ridge{}, func(f *companion.Regression) { f.Model.Linear.Weights = []float64{1} }},
		"nothing":   {baseline.Ridge{}, func(f *companion.Regression) { f.Model = &baseline.Stored{} }},
		"version":   {baseline.Ridge{}, func(f *companion.Regression) { f.SchemaVersion = 2 }},
		"factor":    {baseline.BayesianLinear{}, func(f *companion.Regression) { f.Model.Bayes.Vectors.Rows = 1 }},
		"no factor": {baseline.BayesianLinear{}, func(f *companion.Regression) { f.Model.Bayes.Vectors = nil }},
		"free":      {baseline.BayesianLinear{}, func(f *companion.Regression) { f.Model.Bayes.Free = []float64{1, 2} }},
		"noise":     {baseline.BayesianLinear{}, func(f *companion.Regression) { f.Model.Bayes.Noise = nil }},
		"term":      {baseline.Basis{}, func(f *companion.Regression) { f.Model.Basis.Terms[0][0] = 5 }},
		"width":     {baseline.Basis{Expansion: baseline.Gaussians{}}, func(f *companion.Regression) { f.Model.Basis.Width = 0 }},
		"kind":      {baseline.Spline{}, func(f *companion.Regression) { f.Model.Spline.Kind = "quintic" }},
		"knots":     {baseline.Spline{}, func(f *companion.Regression) { f.Model.Spline.ScaledKnots[0][0] = 1e9 }},
		"alpha":     {baseline.KernelRidge{}, func(f *companion.Regression) { f.Model.Kernel.Alpha = nil }},
		"theta":     {baseline.KernelRidge{}, func(f *companion.Regression) { f.Model.Kernel.Theta[0] = 0 }},
	} {
		f, _ := fitted(t, c.method, 20, 3)
		c.change(f)
		path := filepath.Join(t.TempDir(), "m.json")
		testcheck.Do(t, f.Save(t.Context(), path, false))
		if _, _, err := companion.Load(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestFactors reads files with a triangular factor, as gpfit wrote them before it stored singular
// vectors, and compares predictions with the predictions of the program that wrote them.
func TestFactors(t *testing.T) {
	for name, want := range map[string][2]float64{"upper": {0.20349521836516193, 0.06836479160076409}, "lower": {0.3623602423846294, 0.2225435281274869}} {
		f, _, err := companion.Load(filepath.Join("testdata", name+".json"))
		testcheck.Do(t, err)
		p := testcheck.Get(f.Predict(slices.Repeat([]float64{0.5}, len(f.FeatureNames)), 1))(t)
		if p.Mean[0] != want[0] || p.Std[0] != want[1] {
			t.Errorf("%s: %v ± %v, want %v", name, p.Mean, p.Std, want)
		}
	}
}

// TestSeal changes a number of a file and makes the checksum right. The seal shows it; another layout it does not mind, and a file
// of an older program has none.
func TestSeal(t *testing.T) {
	f, _ := fitted(t, baseline.Ridge{}, 40, 3)
	path := filepath.Join(t.TempDir(), "m.json")
	testcheck.Do(t, f.Save(t.Context(), path, true))
	whole := testcheck.Get(os.ReadFile(path))(t)
	body, _, _ := bytes.Cut(whole, []byte(",\n \"sha256\""))
	for name, c := range map[string]struct {
		edit func(v map[string]any)
		well bool
	}{
		"another layout":   {func(map[string]any) {}, true},
		"another number":   {func(v map[string]any) { v["n"] = 41 }, false},
		"another name":     {func(v map[string]any) { v["target_name"] = "z" }, false},
		"an older program": {func(v map[string]any) { delete(v, "seal") }, true},
	} {
		var v map[string]any
		d := json.NewDecoder(bytes.NewReader(append(slices.Clone(body), '}')))
		d.UseNumber()
		testcheck.Do(t, d.Decode(&v))
		c.edit(v)
		text := bytes.TrimSuffix(testcheck.Get(json.Marshal(v))(t), []byte("}"))
		testcheck.Do(t, os.WriteFile(path, fmt.Appendf(slices.Clone(text), ",\n \"sha256\": \"%x\"\n}\n", sha256.Sum256(text)), 0o600))
		if _, _, err := companion.Load(path); (err == nil) != c.well {
			t.Errorf("%s: %v", name, err)
		}
	}
}
