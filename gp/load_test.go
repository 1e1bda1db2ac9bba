package gp

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/table/feature"
)

// writeUnchecked writes any model in a version of the format with a valid checksum.
func writeUnchecked(t *testing.T, m *Model, version int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gpfit")
	f := testcheck.Get(os.Create(path))(t)
	h := newHeader(m)
	h.SchemaVersion = version
	testcheck.Do(t, errors.Join(h.write(f, nil), f.Close()))
	return path
}

func TestLoadMissing(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestLoadNonFinite checks that a model with a valid checksum and numbers that are
// not finite is rejected with their position.
func TestLoadNonFinite(t *testing.T) {
	for want, change := range map[string]func(*Model){
		"element 2 of alpha is NaN":                 func(m *Model) { m.Alpha[2] = math.NaN() },
		"element 3 of X is +Inf":                    func(m *Model) { m.X[3] = math.Inf(1) },
		"element 0 of y is -Inf":                    func(m *Model) { m.Y[0] = math.Inf(-1) },
		"element 1 of rows is NaN":                  func(m *Model) { m.Rows = []float64{0, math.NaN(), 2, 3, 4} },
		"training row 1 has the invalid row number": func(m *Model) { m.Rows = []float64{0, -1, 2, 3, 4} },
		"invalid scale 0":                           func(m *Model) { m.Scaling.XScale[1] = 0 },
		"invalid scale -1":                          func(m *Model) { m.Scaling.YScale = -1 },
		"noise variance NaN of training":            func(m *Model) { m.Noise.Column, m.TrainNoise = "s", []float64{1, 1, 1, 1, math.NaN()} },
	} {
		m := newModel(t, 5)
		change(m)
		_, err := Load(writeUnchecked(t, m, SchemaVersion))
		if !errors.As(err, new(*FileError)) || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "element 4 of noise is NaN") {
			t.Errorf("%s: error %v", want, err)
		}
		if err := m.Save(filepath.Join(t.TempDir(), "m")); err == nil {
			t.Errorf("%s: was saved", want)
		}
	}
}

// TestLoadClaims checks that sizes in a header are compared with the file before allocation.
func TestLoadClaims(t *testing.T) {
	for want, rewrite := range map[string]func(w *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte){
		"model.json claims": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return f.Name, zip.Store, []byte(strings.Replace(string(text), `"n": 5`, `"n": 100000000000`, 1))
		},
		"this gpfit no longer predicts: fit the table again with 'gpfit fit' and option experts": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return f.Name, zip.Store, []byte(strings.Replace(string(text), `"n": 5`, `"n": 5, "locals": [{"nlml": 1}]`, 1))
		},
		"is compressed": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return f.Name, zip.Deflate, text
		},
		"is missing": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return strings.Replace(f.Name, "alpha", "beta", 1), zip.Store, text
		},
		"not an array of float64": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return f.Name, zip.Store, []byte(strings.Replace(string(text), "(5, 2, )", "(9, 2, )", 1))
		},
	} {
		path := rewriteArchive(t, writeUnchecked(t, newModel(t, 5), SchemaVersion), rewrite)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Load(path)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("%s: %d bytes were taken", want, took)
		}
	}
}

// rewriteArchive changes the entries of a model file and gives it a valid checksum.
func rewriteArchive(t *testing.T, path string, rewrite func(*zip.Writer, *zip.File, []byte) (string, uint16, []byte)) string {
	t.Helper()
	in := testcheck.Get(zip.OpenReader(path))(t)
	defer in.Close()
	out := testcheck.Get(os.Create(path + ".new"))(t)
	sum := newChecksumWriter(out)
	w := zip.NewWriter(sum)
	testcheck.Do(t, w.SetComment(emptyComment))
	for _, f := range in.File {
		name, method, text := rewrite(w, f, testcheck.Get(fs.ReadFile(in, f.Name))(t))
		entry := testcheck.Get(w.CreateHeader(&zip.FileHeader{Name: name, Method: method}))(t)
		testcheck.Get(entry.Write(text))(t)
	}
	testcheck.Do(t, errors.Join(w.Close(), sum.finish(), out.Close()))
	return path + ".new"
}

// version2Models use all additions of version 2: several targets, noise groups, known noise, and
// a mean with bumps and powers by least squares. The file of each is testdata/NAME.gpfit.
func version2Models(t testing.TB) map[string]*Model {
	known := noisyModel(t, 12)
	known.Mean.Text, known.Mean.LeastSquares = "linear + bumps(1, dims=0)", true
	known.Mean.Basis = append(mean.Basis{{Group: mean.Bump, Centre: 0.5, Width: 1.25}}, known.Mean.Basis...)
	known.Mean.Coefficients = append([]float64{0.75}, known.Mean.Coefficients...)

	several := newModel(t, 12)
	several.NoiseVariance = 0
	several.Noise = Noise{GroupColumn: "lab", Labels: []string{"a", "b"}, Variances: []float64{0.02, 0.3}}
	several.Mean.Text, several.Mean.LeastSquares = "poly(2, dims=0)", true
	several.Mean.Basis = mean.Basis{{Group: mean.Linear, Index: 1}, {Group: mean.Power, Index: 2}, {Group: mean.Constant}}
	for i := range 12 {
		several.TrainNoise = append(several.TrainNoise, several.Noise.Variances[i%2])
		several.Y = append(several.Y, float64(i*i))
	}
	several.Alpha = append(several.Alpha, several.Alpha...)
	several.Targets = []Target{
		{Name: "y", YMean: several.Scaling.YMean, YScale: several.Scaling.YScale, Coefficients: several.Mean.Coefficients, NLML: 7},
		{Name: "z", YMean: 40, YScale: 45, Coefficients: []float64{1, 2, 3}, NLML: 5.5},
	}
	return map[string]*Model{"v2_known": known, "v2_targets": several}
}

// TestVersion2 reads files in the second schema version.
func TestVersion2(t *testing.T) {
	for name, fresh := range version2Models(t) {
		for _, m := range []*Model{loadsAs(t, name, fresh), fresh} {
			p := condition(t, m)
			preds, err := p.PredictTargets(t.Context(), newRows(3), 3, RowNoise{DefaultGroup: "b"})
			if err != nil || len(preds) != m.T() || !(preds[0].StdLatent[0] > 0) {
				t.Errorf("%s: predictions %v, %v", name, preds, err)
			}
		}
	}
}

func TestInvalidTargets(t *testing.T) {
	for what, change := range map[string]func(*Model){
		"coefficients": func(m *Model) { m.Targets[1].Coefficients = nil },
		"scale":        func(m *Model) { m.Targets[0].YScale = 0 },
		"data":         func(m *Model) { m.Y = m.Y[1:] },
		"known":        func(m *Model) { m.Noise.Column = "v" },
		"weights":      func(m *Model) { m.Alpha = m.Alpha[:12] },
	} {
		m := version2Models(t)["v2_targets"]
		change(m)
		if m.Validate() == nil {
			t.Errorf("a model with bad %s passes", what)
		}
	}
}

// encodedModel returns a model with columns of every kind, and the cells of its training rows.
func encodedModel(t testing.TB) (*Model, [][]string) {
	t.Helper()
	e := &feature.Encoding{Text: feature.Text{Decimal: ","}, Columns: []feature.Coding{
		{Name: "n", Kind: feature.Number}, {Name: "b", Kind: feature.Boolean},
		{Name: "k", Kind: feature.Category, Categories: []string{"x, y", "é"}},
		{Name: "c", Kind: feature.Category, Categories: []string{"low", "mid", "high"}, Codes: true},
		{Name: "d", Kind: feature.Date, Unit: feature.Years, Origin: "2000-01-01"}, {Name: "t", Kind: feature.Clock, Unit: feature.Hours},
	}}
	names := e.Features()
	m := &Model{
		Kernel: "rbf", Columns: kernel.Columns(len(names)), FeatureNames: names, TargetName: "y", Encoding: e,
		ParameterNames: []string{"lengthscale", "signal_variance"}, Theta: []float64{1.5, 1.2}, NoiseVariance: 0.1, Status: "converged",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var cells [][]string
	for i := range 20 {
		row := []string{
			fmt.Sprintf("%d,%d", i%7, i), []string{"yes", "no", "TRUE"}[i%3], e.Columns[2].Categories[rng.IntN(2)], e.Columns[3].Categories[rng.IntN(3)],
			fmt.Sprintf("20%02d-0%d-11 0%d:30:00", rng.IntN(99), 1+i%9, i%7), fmt.Sprintf("%02d:%02d", rng.IntN(24), i),
		}
		x := testcheck.Get(e.Row(row))(t)
		cells, m.X, m.Y = append(cells, row), append(m.X, x...), append(m.Y, rng.NormFloat64())
	}
	m.Scaling = NewScaling(StandardizeXY, m.X, m.Y, len(names))
	m.Alpha = make([]float64, len(m.Y))
	weigh(t, m)
	return m, cells
}

// TestVersion3 reads a file in the third schema version, and checks that models without
// columns of other kinds keep the second.
func TestVersion3(t *testing.T) {
	fresh, _ := encodedModel(t)
	loadsAs(t, "v3_encoding", fresh)
	if fresh, plain := newHeader(fresh).SchemaVersion, newHeader(newModel(t, 5)).SchemaVersion; fresh != 3 || plain != 2 {
		t.Error("versions", fresh, plain)
	}
	for what, change := range map[string]func(*Model){
		"kind":     func(m *Model) { m.Encoding.Columns[0].Kind = "colour" },
		"names":    func(m *Model) { m.FeatureNames[0] = "m" },
		"decimals": func(m *Model) { m.Encoding.Decimal = "'" }, "columns": func(m *Model) { m.Columns[0] = m.Columns[1] },
	} {
		bad, _ := encodedModel(t)
		change(bad)
		if bad.Validate() == nil {
			t.Errorf("a model with bad %s passes", what)
		}
	}
}

// parts are the entries of a model file; empty ones are omitted.
var parts = []string{"model.json", "X.npy", "y.npy", "alpha.npy", "noise.npy", "rows.npy", "factor.npy"}

// FuzzLoad checks that a file with any entries and a correct checksum is either rejected with a
// [*FileError], or is a model that predicts and, written again, reads back unchanged.
func FuzzLoad(f *testing.F) {
	files := testcheck.Get(filepath.Glob("testdata/*.gpfit"))(f)
	if len(files) < 3 {
		f.Fatalf("%d files", len(files))
	}
	for _, path := range files {
		e := entries(f, path)
		f.Add(e[0], e[1], e[2], e[3], e[4], e[5], e[6])
		f.Add(e[0], e[1], e[2], e[3], e[4], []byte(nil), e[1])
	}
	path := filepath.Join(f.TempDir(), "m.gpfit")
	f.Fuzz(func(t *testing.T, header, x, y, alpha, noise, rows, factor []byte) {
		if len(x)+len(factor) > 1<<16 {
			return // the posterior would take too long
		}
		testcheck.Do(t, os.WriteFile(path, archive(t, [][]byte{header, x, y, alpha, noise, rows, factor}), 0o600))
		fuzzguard.Run(t, func() { checkLoad(t, path) })
	})
}

// entries returns the entries of a model file.
func entries(t testing.TB, path string) [][]byte {
	z := testcheck.Get(zip.OpenReader(path))(t)
	defer z.Close()
	out := make([][]byte, len(parts))
	for i, name := range parts {
		if text, err := fs.ReadFile(z, name); !errors.Is(err, fs.ErrNotExist) {
			out[i] = testcheck.Get(text, err)(t)
		}
	}
	return out
}

// archive builds a model file with its checksum.
func archive(t testing.TB, entries [][]byte) []byte {
	var text bytes.Buffer
	z := zip.NewWriter(&text)
	testcheck.Do(t, z.SetComment(commentPrefix+strings.Repeat("0", 2*sha256.Size)))
	for i, entry := range entries {
		if len(entry) > 0 {
			w := testcheck.Get(z.CreateHeader(&zip.FileHeader{Name: parts[i], Method: zip.Store}))(t)
			testcheck.Get(w.Write(entry))(t)
		}
	}
	testcheck.Do(t, z.Close())
	body := text.Bytes()[:text.Len()-2*sha256.Size]
	sum := sha256.Sum256(body)
	return append(body, hex.EncodeToString(sum[:])...)
}

func checkLoad(t *testing.T, path string) {
	m, err := Load(path)
	if err != nil {
		if !errors.As(err, new(*FileError)) {
			t.Fatalf("error %#v", err)
		}
		return
	}
	again := path + ".again"
	testcheck.Do(t, m.Save(again))
	same := testcheck.Get(Load(again))(t)
	if diff := cmp.Diff(m, same, cmpopts.IgnoreUnexported(Model{}), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("saved and read again: %s", diff)
	}
	checkPredictions(t, m)
}

// checkPredictions checks that a posterior, if any, predicts deviations that are not negative.
func checkPredictions(t *testing.T, m *Model) {
	ctx := t.Context()
	if m.N() > 200 || len(m.FeatureNames) > 100 || m.T() > 100 || len(m.Kernel) > 500 {
		return
	}
	p, err := m.Condition(ctx, backend)
	if err != nil {
		return
	}
	defer p.Close()
	rows := make([]float64, 2*len(m.FeatureNames))
	label := ""
	if len(m.Noise.Labels) > 0 {
		label = m.Noise.Labels[0]
	}
	preds, err := p.PredictTargets(ctx, rows, 2, RowNoise{DefaultGroup: label})
	if err != nil {
		return
	}
	for _, pred := range preds {
		if len(pred.Mean) != 2 || pred.Std[0] < 0 || pred.StdLatent[0] < 0 || math.Float64bits(pred.Mean[0]) != math.Float64bits(pred.Mean[1]) && pred.Mean[0] == pred.Mean[0] {
			t.Fatalf("predictions %+v", pred)
		}
	}
}
