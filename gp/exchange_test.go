package gp_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gpfit/gp"
	"gpfit/gp/exchange"
	"gpfit/internal/testcheck"
)

func init() { gp.ExportForTest = func(m *gp.Model) { _ = exchange.WriteJSON(m, io.Discard) } }

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

// exported is an exported model and rows to predict for, as files.
type exported struct {
	what, model, points string
	want                *gp.Prediction
}

// newExchange exports m and writes rows of the columns in use, in another order.
func newExchange(t *testing.T, m *gp.Model, what, format string, rows []float64) exported {
	t.Helper()
	dir := t.TempDir()
	e := exported{what: what + ", " + format, model: filepath.Join(dir, "model."+format), points: filepath.Join(dir, "new.csv"), want: testcheck.Get(gp.Predict(t.Context(), gp.ConditionForTest(t, m), rows, len(rows)/3, gp.RowNoise{}))(t)[0]}
	export := map[string]func(*gp.Model, io.Writer) error{"json": exchange.WriteJSON, "npz": exchange.WriteNPZ}[format]
	file := testcheck.Get(os.Create(e.model))(t)
	testcheck.Do(t, errors.Join(export(m, file), file.Close()))
	var text strings.Builder
	fmt.Fprintln(&text, "# rows to predict for\nc,a")
	for i := range len(rows) / 3 {
		fmt.Fprintf(&text, "%v,%v\n", rows[3*i+2], rows[3*i])
	}
	testcheck.Do(t, os.WriteFile(e.points, []byte(text.String()), 0o644))
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

// runPython runs a script of examples and returns a table for each exported.
func runPython(t *testing.T, interpreter, script string, exchanges ...exported) ([][][]float64, error) {
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
		out = append(out, testcheck.Slice(len(record), func(i int) float64 {
			return testcheck.Get(strconv.ParseFloat(record[i], 64))(t)
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

// TestReadModel checks that examples/read_model.py reproduces predictions, also of draws.
func TestReadModel(t *testing.T) {
	interpreter := python(t, "numpy")
	rows := gp.NewRowsForTest(9)
	var exchanges []exported
	for what, m := range gp.ExportModelsForTest(t) {
		for _, format := range []string{"json", "npz"} {
			exchanges = append(exchanges, newExchange(t, m, what, format, rows))
		}
	}
	for i, text := range slices.Concat([]string{"cosine(dims=0)*rbf + rbf", "cosine(ard)*matern52"}, gp.AllKernelsForTest) {
		m := gp.ExampleModelForTest(t, text, i%2 == 1)
		exchanges = append(exchanges, newExchange(t, m, text, "json", gp.NewRowsForTest(9)), newExchange(t, m, text, "npz", gp.NewRowsForTest(9)))
	}
	tables := testcheck.Get(runPython(t, interpreter, "read_model", exchanges...))(t)
	for i, e := range exchanges {
		compareTable(t, e.what, tables[i], e.want.Mean, e.want.Std, e.want.StdLatent)
	}
}

// TestReadGroups checks the noise groups of rows of the table.
func TestReadGroups(t *testing.T) {
	interpreter := python(t, "numpy")
	m := gp.NoisyModelForTest(t, 40)
	rows := gp.NewRowsForTest(4)
	noise := gp.RowNoise{Group: []string{"a", "b", "b", "a"}, Known: []float64{0, 1.5, 0.25, 3}}
	want := testcheck.Get(gp.ConditionForTest(t, m).PredictNoise(t.Context(), rows, 4, noise))(t)
	plain := *m
	plain.Noise = gp.Noise{Column: m.Noise.Column} // newExchange predicts without groups
	e := newExchange(t, &plain, "groups", "json", rows)
	file := testcheck.Get(os.Create(e.model))(t)
	testcheck.Do(t, errors.Join(exchange.WriteJSON(m, file), file.Close()))
	if _, err := runPython(t, interpreter, "read_model", e); err == nil || !strings.Contains(err.Error(), "needs the column 'lab'") {
		t.Errorf("a table without groups: %v", err)
	}
	text := "a,c,lab,variance\n"
	for i := range 4 {
		text += fmt.Sprintf("%v,%v,%s,%v\n", rows[3*i], rows[3*i+2], noise.Group[i], noise.Known[i])
	}
	testcheck.Do(t, os.WriteFile(e.points, []byte(text), 0o644))
	tables := testcheck.Get(runPython(t, interpreter, "read_model", e))(t)
	compareTable(t, "groups", tables[0], want.Mean, want.Std, want.StdLatent)
}

// TestToSklearn checks that examples/to_sklearn.py builds a model with the same
// predictions, or explains why it cannot.
func TestToSklearn(t *testing.T) {
	interpreter := python(t, "sklearn")
	var exchanges []exported
	for _, text := range append([]string{"matern(3.5)*rbf", "matern(1.5, ard)"}, gp.ExportKernelsForTest...) {
		exchanges = append(exchanges, newExchange(t, gp.ExampleModelForTest(t, text, false), text, "json", gp.NewRowsForTest(9)))
	}
	tables := testcheck.Get(runPython(t, interpreter, "to_sklearn", exchanges...))(t)
	for i, e := range exchanges {
		compareTable(t, e.what, tables[i], e.want.Mean, e.want.Std)
	}
	known := gp.ExportModelsForTest(t)["known noise"]
	known.Mean = gp.Mean{}
	gp.WeighForTest(t, known)
	for want, m := range map[string]*gp.Model{
		"no mean function": gp.ExampleModelForTest(t, "rbf", true), "noise differs from row to row": known,
		"no kernel that equals 'cosine'":    gp.ExampleModelForTest(t, "rbf + cosine(dims=0)", false),
		"no kernel that equals 'exp(-r/a)'": gp.ExampleModelForTest(t, "rbf + formula(exp(-r/a), a=1)", false),
	} {
		if _, err := runPython(t, interpreter, "to_sklearn", newExchange(t, m, want, "json", gp.NewRowsForTest(2))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, want a message that says %q", err, want)
		}
	}
}

// TestExportSchema validates exports against the published schema, which rejects unknown members.
func TestExportSchema(t *testing.T) {
	schema := testcheck.Get(jsonschema.NewCompiler().Compile("../examples/model.schema.json"))(t)
	models := gp.ExportModelsForTest(t)
	models["groups"] = gp.NoisyModelForTest(t, 20)
	models["encoding"], _ = gp.EncodedModelForTest(t)
	for i, text := range gp.AllKernelsForTest {
		models[text] = gp.ExampleModelForTest(t, text, i%2 == 1)
	}
	for text, m := range models {
		var out bytes.Buffer
		testcheck.Do(t, exchange.WriteJSON(m, &out))
		whole := out.String()
		check := func(text string) error {
			v := testcheck.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
			return schema.Validate(v)
		}
		testcheck.Do(t, check(whole))
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
	m := gp.NewModelForTest(t, 5)
	m.Theta = m.Theta[1:]
	var out bytes.Buffer
	if exchange.WriteJSON(m, &out) == nil || exchange.WriteNPZ(m, &out) == nil {
		t.Error("a model without one of its parameters was exported")
	}
}

// TestReadEncoding checks that examples/read_model.py reads tables as gpfit does.
func TestReadEncoding(t *testing.T) {
	interpreter := python(t, "numpy")
	m, cells := gp.EncodedModelForTest(t)
	want := testcheck.Get(gp.ConditionForTest(t, m).Predict(t.Context(), m.X, m.N()))(t)
	text := "t;k;n;b;c;d\n"
	for _, row := range cells { // 2024-01-31 14:30:00 is 31.01.2024 14:30:00
		text += fmt.Sprintf("%s;\"%s\";\"%s\";%s;%s;%s.%s.%s%s\n", row[5], row[2], row[0], row[1], row[3], row[4][8:10], row[4][5:7], row[4][:4], row[4][10:])
	}
	dir := t.TempDir()
	e := exported{what: "encoding", model: filepath.Join(dir, "m.json"), points: filepath.Join(dir, "new.csv")}
	var export strings.Builder
	testcheck.Do(t, errors.Join(exchange.WriteJSON(m, &export), os.WriteFile(e.model, []byte(export.String()), 0o600), os.WriteFile(e.points, []byte(text), 0o600)))
	tables := testcheck.Get(runPython(t, interpreter, "read_model", e))(t)
	compareTable(t, "encoding", tables[0], want.Mean, want.Std, want.StdLatent)
	if math.Abs(want.Mean[0]) == 0 {
		t.Error("the mean is 0")
	}
}
