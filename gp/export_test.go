package gp

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gpfit/internal/must"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/method/experts"
)

// python returns an interpreter with the modules of examples/requirements.txt: GPFIT_PYTHON, or
// python3. Without one the test skips, or fails if GPFIT_PYTHON_REQUIRED is set.
func python(t *testing.T, module string) string {
	t.Helper()
	path := os.Getenv("GPFIT_PYTHON")
	if path == "" {
		path = "python3"
	}
	if text, err := exec.Command(path, "-c", "import "+module).CombinedOutput(); err != nil {
		say := t.Skipf
		if os.Getenv("GPFIT_PYTHON_REQUIRED") != "" {
			say = t.Fatalf
		}
		say("SKIPPED: %s cannot import %s (pip install -r examples/requirements.txt, or set GPFIT_PYTHON): %v\n%s", path, module, err, text)
	}
	return path
}

// exampleModel returns a model of three features, one unused, with the given kernel
// at distinct parameters, and true weights.
func exampleModel(t testing.TB, text string, withMean bool) *Model {
	t.Helper()
	m := newModel(t, 40)
	m.Kernel, m.Kernels, m.Jitter = text, []*kernel.Family{tent}, 0.01
	if !withMean {
		m.Mean = Mean{}
	}
	prog := must.Get(m.Program())(t)
	m.ParameterNames, m.Theta = prog.Names(), nil
	for i := range prog.NumParams {
		m.Theta = append(m.Theta, 0.8+0.15*float64(i))
	}
	weigh(t, m)
	return m
}

// weigh sets a model's weights to Σ⁻¹(y − m(X)).
func weigh(t testing.TB, m *Model) {
	t.Helper()
	p := must.Get(m.Condition(t.Context(), backend))(t)
	defer p.Close()
	m.Alpha = m.Scaling.Targets(m.Y)
	for i, v := range m.Mean.at(m.Points()) {
		m.Alpha[i] -= v
	}
	must.Do(t, p.Workspace().Solve(t.Context(), m.Alpha, 1))
}

// exportKernels contain every leaf and combinations of leaves.
var exportKernels = []string{
	"rbf", "rbf(ard)", "matern12", "matern32(ard)", "matern52(dims=2)",
	"rbf(ard) + matern32", "rbf*matern12(dims=0) + matern52(ard, dims=[2, 0])",
	"rbf(dims=0)*(matern32 + matern52(dims=2))*(rbf + matern12)",
	"rq", "rq(ard, dims=[2, 0])", "periodic", "periodic(ard)", "periodic(dims=2)*rbf", "linear", "linear(ard) + rbf", "linear(dims=0) + constant",
	"poly", "poly(3, ard)", "poly(2, offset=0)", "poly(3, ard, offset=0) + rbf", "constant + matern32*linear", "rq*(periodic + linear(ard) + constant)",
}

// compiledKernels contain leaves that are exported as operations.
var compiledKernels = []string{
	"matern(3.5)", "matern(0.5, ard) + wendland(1)", "wendland(2, ard, dims=[2, 0])*rbf", "wendland(0)", "arcsine", "arcsine(ard) + linear", "arcsine(offset=0) + rbf",
	"gibbs(dims=2)", "gibbs + rbf", "hamming*rbf", "hamming(ard) + matern32",
	"formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2, dims=0) + rbf", "formula(exp(-(r/a)^g), a=1, g=1)*periodic", "formula((1 + r2)^-b, b=1, ard)",
	"formula(sigmoid(5*(x - 0.3))*sigmoid(5*(y - 0.3)), dims=0)*rbf + formula(1)", "formula(tanh(xx)*tanh(yy) + log1p(xx)*log1p(yy) + exp(-mismatches))",
	"formula(pos(1 - r/a)^4*(1 + 4*r/a)/sqrt((1 + abs(x))*(1 + abs(y))), a=3, dims=2) + formula(sin(x)*sin(y)*asin(tanh(x)/2)*asin(tanh(y)/2), dims=0)*rbf", "formula(erf(x)*erf(y), dims=0) + formula(sinc(2*pi*r/a), a=3)*rbf", "tent(dims=0) + rbf",
}

// exchange is an exported model and rows to predict for, as files.
type exchange struct {
	what, model, points string
	want                *Prediction
}

// newExchange exports m and writes rows of the columns in use, in another order.
func newExchange(t *testing.T, m *Model, what, format string, rows []float64) exchange {
	t.Helper()
	dir := t.TempDir()
	e := exchange{what: what + ", " + format, model: filepath.Join(dir, "model."+format), points: filepath.Join(dir, "new.csv"), want: predict(t, m, rows)}
	export := ExportJSON
	if format == "npz" {
		export = ExportNPZ
	}
	file := must.Get(os.Create(e.model))(t)
	must.Do(t, errors.Join(export(m, file), file.Close()))
	var text strings.Builder
	fmt.Fprintln(&text, "# rows to predict for\nc,a")
	for i := range len(rows) / 3 {
		fmt.Fprintf(&text, "%v,%v\n", rows[3*i+2], rows[3*i])
	}
	must.Do(t, os.WriteFile(e.points, []byte(text.String()), 0o644))
	return e
}

// runAll runs a script's main for all exchanges in one process: loading scikit-learn is slow.
const runAll = `import importlib, sys
sys.path.insert(0, "../examples")
script = importlib.import_module(sys.argv[1])
for model, points in zip(sys.argv[2::2], sys.argv[3::2]):
    sys.argv = [script.__file__, model, points]
    script.main()
    print()
`

// runPython runs a script of examples and returns a table for each exchange.
func runPython(t *testing.T, interpreter, script string, exchanges ...exchange) ([][][]float64, error) {
	t.Helper()
	args := []string{"-B", "-c", runAll, script}
	for _, e := range exchanges {
		args = append(args, e.model, e.points)
	}
	out, err := exec.Command(interpreter, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, exit.Stderr)
	} else if err != nil {
		return nil, err
	}
	var tables [][][]float64
	for part := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n\n") {
		tables = append(tables, parseTable(t, part))
	}
	if len(tables) != len(exchanges) {
		t.Fatalf("%d tables for %d models", len(tables), len(exchanges))
	}
	return tables, nil
}

func parseTable(t *testing.T, text string) [][]float64 {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		t.Fatalf("%v in %q", err, text)
	}
	var out [][]float64
	for _, record := range records[1:] {
		out = append(out, must.Slice(len(record), func(i int) float64 {
			return must.Get(strconv.ParseFloat(record[i], 64))(t)
		}))
	}
	return out
}

// exchangeTolerance bounds the differences from other programs, relative to the value. They solve
// the same system, of condition number up to 1e5, in another order.
const exchangeTolerance = 1e-8

func compareTable(t *testing.T, what string, table [][]float64, columns ...[]float64) {
	t.Helper()
	if len(table) != len(columns[0]) {
		t.Fatalf("%s: %d rows, want %d", what, len(table), len(columns[0]))
	}
	for i, row := range table {
		for q, column := range columns {
			if math.Abs(row[q]-column[i]) > exchangeTolerance*math.Abs(column[i]) {
				t.Errorf("%s: row %d, column %d: %v, want %v", what, i, q, row[q], column[i])
			}
		}
	}
}

// TestReadModel checks that examples/read_model.py reproduces predictions with only NumPy.
func TestReadModel(t *testing.T) {
	interpreter := python(t, "numpy")
	rows := newRows(9)
	var exchanges []exchange
	for what, m := range exportModels(t) {
		for _, format := range []string{"json", "npz"} {
			exchanges = append(exchanges, newExchange(t, m, what, format, rows))
		}
	}
	for i, text := range slices.Concat([]string{"cosine(dims=0)*rbf + rbf", "cosine(ard)*matern52"}, compiledKernels, exportKernels) {
		m := exampleModel(t, text, i%2 == 1)
		exchanges = append(exchanges, newExchange(t, m, text, "json", newRows(9)), newExchange(t, m, text, "npz", newRows(9)))
	}
	tables := must.Get(runPython(t, interpreter, "read_model", exchanges...))(t)
	for i, e := range exchanges {
		compareTable(t, e.what, tables[i], e.want.Mean, e.want.Std, e.want.StdLatent)
	}
}

// exportModels are models of every kind of mean and noise.
func exportModels(t testing.TB) map[string]*Model {
	universal := leastSquaresModel(t, 40)
	bumps := newModel(t, 40)
	bumps.Mean = Mean{Text: "poly(3, dims=0) + bumps(2, dims=2)", Coefficients: []float64{0.3, -0.2, 0.05, 0.4, -0.3, 0.1}, Basis: mean.Basis{
		{Group: mean.Linear, Index: 1}, {Group: mean.Power, Index: 2}, {Group: mean.Power, Index: 3},
		{Group: mean.Bump, Column: 1, Label: 2, Centre: -0.5, Width: 0.7}, {Group: mean.Bump, Column: 1, Label: 2, Index: 1, Centre: 0.6, Width: 0.7},
		{Group: mean.Constant},
	}}
	weigh(t, bumps)
	known := newModel(t, 40)
	known.Noise.Column = "variance"
	for i := range known.N() {
		known.TrainNoise = append(known.TrainNoise, known.NoiseVariance+0.03*float64(i%3))
	}
	weigh(t, known)
	out := map[string]*Model{"universal kriging": universal, "bumps": bumps, "known noise": known}
	for _, rule := range experts.Rules() {
		local := leastSquaresModel(t, 40)
		inputs := local.Scaling.Inputs(local.X)
		part := experts.NewPartition(inputs, local.N(), len(local.Columns), experts.PartitionOptions{Clusters: 3, Combine: rule})
		part.Temperature = 1.7
		local.State = part.State()
		weigh(t, local)
		out["local experts, "+string(rule)] = local
	}
	return out
}

// TestReadGroups checks the noise groups of rows of the table.
func TestReadGroups(t *testing.T) {
	interpreter := python(t, "numpy")
	m := noisyModel(t, 40)
	rows := newRows(4)
	noise := RowNoise{Group: []string{"a", "b", "b", "a"}, Known: []float64{0, 1.5, 0.25, 3}}
	want := must.Get(condition(t, m).PredictNoise(t.Context(), rows, 4, noise))(t)
	plain := *m
	plain.Noise = Noise{Column: m.Noise.Column} // newExchange predicts without groups
	e := newExchange(t, &plain, "groups", "json", rows)
	file := must.Get(os.Create(e.model))(t)
	must.Do(t, errors.Join(ExportJSON(m, file), file.Close()))
	if _, err := runPython(t, interpreter, "read_model", e); err == nil || !strings.Contains(err.Error(), "needs the column 'lab'") {
		t.Errorf("a table without groups: %v", err)
	}
	text := "a,c,lab,variance\n"
	for i := range 4 {
		text += fmt.Sprintf("%v,%v,%s,%v\n", rows[3*i], rows[3*i+2], noise.Group[i], noise.Known[i])
	}
	must.Do(t, os.WriteFile(e.points, []byte(text), 0o644))
	tables := must.Get(runPython(t, interpreter, "read_model", e))(t)
	compareTable(t, "groups", tables[0], want.Mean, want.Std, want.StdLatent)
}

// TestToSklearn checks that examples/to_sklearn.py builds a model with the same
// predictions, or explains why it cannot.
func TestToSklearn(t *testing.T) {
	interpreter := python(t, "sklearn")
	var exchanges []exchange
	for _, text := range append([]string{"matern(3.5)*rbf", "matern(1.5, ard)"}, exportKernels...) {
		exchanges = append(exchanges, newExchange(t, exampleModel(t, text, false), text, "json", newRows(9)))
	}
	tables := must.Get(runPython(t, interpreter, "to_sklearn", exchanges...))(t)
	for i, e := range exchanges {
		compareTable(t, e.what, tables[i], e.want.Mean, e.want.Std)
	}
	known := exportModels(t)["known noise"]
	known.Mean = Mean{}
	weigh(t, known)
	for want, m := range map[string]*Model{
		"no mean function": exampleModel(t, "rbf", true), "noise differs from row to row": known,
		"no kernel that equals 'cosine'":    exampleModel(t, "rbf + cosine(dims=0)", false),
		"no kernel that equals 'exp(-r/a)'": exampleModel(t, "rbf + formula(exp(-r/a), a=1)", false),
	} {
		if _, err := runPython(t, interpreter, "to_sklearn", newExchange(t, m, want, "json", newRows(2))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, want a message that says %q", err, want)
		}
	}
}

// TestExportSchema validates exports against the published schema, which rejects unknown members.
func TestExportSchema(t *testing.T) {
	schema := must.Get(jsonschema.NewCompiler().Compile("../examples/model.schema.json"))(t)
	models := exportModels(t)
	models["groups"] = noisyModel(t, 20)
	models["encoding"], _ = encodedModel(t)
	for i, text := range slices.Concat(exportKernels, compiledKernels) {
		models[text] = exampleModel(t, text, i%2 == 1)
	}
	for text, m := range models {
		var out bytes.Buffer
		must.Do(t, ExportJSON(m, &out))
		whole := out.String()
		check := func(text string) error {
			v := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
			return schema.Validate(v)
		}
		must.Do(t, check(whole))
		for _, c := range [][2]string{{`"jitter"`, `"jiter"`}, {`"family":"`, `"family":"x`}, {`"columns":[`, `"columns":[-1,`}, {`"least_squares"`, `"least"`}, {`"n":`, `"n":-`}} {
			if c[0] == `"family":"` && strings.Contains(whole, `"operations"`) {
				c = [2]string{`"op":"`, `"op":"x`}
			}
			if broken := strings.Replace(whole, c[0], c[1], 1); broken == whole || check(broken) == nil {
				t.Errorf("%s: the schema accepts %s for %s", text, c[1], c[0])
			}
		}
	}
}

// TestExportInvalid checks that an incomplete export is an error.
func TestExportInvalid(t *testing.T) {
	m := newModel(t, 5)
	m.Theta = m.Theta[1:]
	var out bytes.Buffer
	if ExportJSON(m, &out) == nil || ExportNPZ(m, &out) == nil {
		t.Error("a model without one of its parameters was exported")
	}
}
