package spec

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
	"gpfit/option"
)

//go:embed testdata/full.yaml
var full string

func writeMask(t *testing.T) string {
	return testcheck.Folder(t, map[string]string{"mask.csv": "forecast,random\n0,1\n1,0\n"})
}

func TestExpand(t *testing.T) {
	s := testcheck.Get(Parse("s.yaml", []byte(full)))(t)
	dir := writeMask(t)
	jobs := testcheck.Get(s.Expand(dir, Options{}))(t)
	var ids []string
	byID := map[string]JobSpec{}
	for _, j := range jobs {
		ids = append(ids, j.ID)
		byID[j.ID] = j
	}
	want := []string{
		"airfoil.rbf-ard.seed-1", "airfoil.rbf-ard.seed-7", "airfoil.m.seed-1",
		"co2.rbf-ard.split-forecast.seed-1", "co2.rbf-ard.split-forecast.seed-7", "co2.rbf-ard.split-1.seed-1", "co2.rbf-ard.split-1.seed-7",
		"co2.m.split-forecast.seed-1", "co2.m.split-forecast.seed-7", "co2.m.split-1.seed-1", "co2.m.split-1.seed-7",
	}
	if d := cmp.Diff(want, ids); d != "" {
		t.Fatal(d)
	}
	j := byID["co2.m.split-1.seed-7"]
	o := j.Options
	switch {
	case j.Path != filepath.Join(dir, "co2.csv"), j.MaskColumn != 1, *o.Restarts != 0, *o.Mean != "linear", *o.Threads != 2:
		t.Errorf("%+v", j)
	case *o.Target != "0", *o.Header != "yes", *o.Standardize != "xy", int64(*o.Memory) != 3<<29:
		t.Errorf("%+v", o)
	case !reflect.DeepEqual(o.Features, []Word{"1", "b", "3-5"}):
		t.Errorf("%v", o.Features)
	case !reflect.DeepEqual(o.Set, map[string]float64{"lengthscale": 2, "noise_variance": 1e-3}):
		t.Errorf("set is merged name by name: %v", o.Set)
	case o.Fix["signal_variance"] != nil || *o.Fix["noise_variance"] != 0.01 || o.Bounds["lengthscale"][1] != 10:
		t.Errorf("%v %v", o.Fix, o.Bounds)
	}
	if o := byID["airfoil.rbf-ard.seed-1"].Options; *o.Restarts != 2 || o.Set["lengthscale"] != 0.5 || len(o.Set) != 1 || o.Fix != nil {
		t.Errorf("options of one job reach another: %+v", o)
	}
	three := 3
	if jobs = testcheck.Get(s.Expand(dir, Options{Threads: &three}))(t); *jobs[len(jobs)-1].Options.Threads != 3 {
		t.Error("the extra options do not override the spec")
	}
}

// TestFingerprint checks that the fingerprint changes with everything that a result
// depends on, and with nothing else.
func TestFingerprint(t *testing.T) {
	s := testcheck.Get(Parse("s.yaml", []byte(full)))(t)
	jobs := testcheck.Get(s.Expand(writeMask(t), Options{}))(t)
	j := jobs[len(jobs)-1]
	hashes := map[string]string{j.Path: "a", j.SplitMask: "b"}
	base := j.Fingerprint(hashes)
	seen := map[string]string{}
	for _, other := range jobs {
		f := other.Fingerprint(map[string]string{other.Path: "a", other.SplitMask: "b"})
		if seen[f] != "" {
			t.Errorf("%s and %s have one fingerprint", seen[f], other.ID)
		}
		seen[f] = other.ID
	}
	if j.Fingerprint(map[string]string{j.Path: "c", j.SplitMask: "b"}) == base || j.Fingerprint(map[string]string{j.Path: "a", j.SplitMask: "c"}) == base {
		t.Error("the fingerprint ignores the contents of files")
	}
	moved := j
	moved.Path = "/elsewhere/co2.csv"
	five, big := 5, Bytes(1<<40)
	moved.Options.Retries, moved.Options.Memory = &five, &big
	if moved.Fingerprint(map[string]string{moved.Path: "a", j.SplitMask: "b"}) != base {
		t.Error("the fingerprint depends on path, retries or memory")
	}
	moved.Options.Threads = &five
	if moved.Fingerprint(map[string]string{moved.Path: "a", j.SplitMask: "b"}) == base {
		t.Error("the fingerprint ignores threads")
	}
}

// TestFingerprintStays checks the fingerprints of release 0.1.0, on which the jobs of its
// run directories depend.
func TestFingerprintStays(t *testing.T) {
	s := testcheck.Get(Parse("s.yaml", []byte(full)))(t)
	jobs := testcheck.Get(s.Expand(writeMask(t), Options{}))(t)
	for i, want := range map[int]string{0: "ceb59ef5b1ab113c", 1: "fb7e3b4b06543788", 2: "97af81ba4db48bb7"} {
		j := jobs[i]
		if got := j.Fingerprint(map[string]string{j.Path: "a"}); got != want {
			t.Errorf("%s has the fingerprint %s, want %s", j.ID, got, want)
		}
	}
}

// TestErrors checks that every mistake is found at its place, with advice. testdata/errors.txt
// has a quoted spec and a part of its error in each line.
func TestErrors(t *testing.T) {
	for line := range strings.Lines(string(testcheck.Get(os.ReadFile("testdata/errors.txt"))(t))) {
		quoted, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		text := testcheck.Get(strconv.Unquote(quoted))(t)
		_, err := Parse("s.yaml", []byte(text))
		var se *Error
		if !errors.As(err, &se) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"data: [{path: a, split_mask: mask.csv, splits: [0, forcast]}]\nkernels: [rbf]\n": `no column "forcast"; there are forecast, random`,
		"data: [a.csv]\nkernels: [rbf]\nexclude: [{data: [a]}]\n":                         "leaves no job",
		"data: [a.csv]\nkernels: [rbf]\ndefaults:\n  folds: 3\n":                          "s.yaml:4:3: a.rbf.seed-1: folds needs the objective cv",
	} {
		s := testcheck.Get(Parse("s.yaml", []byte(text)))(t)
		if _, err := s.Expand(writeMask(t), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestExponent checks numbers as people write them, which are strings in YAML 1.1.
// TestDepth checks that what is nested deeply is an error with its place, before the parser takes gigabytes for it.
func TestDepth(t *testing.T) {
	for text, place := range map[string][2]int{
		strings.Repeat("[", 80000):                             {1, 51},
		"data: [a]\nkernels: " + strings.Repeat("{a: ", 20000): {2, 210},
		"data:\n" + strings.Repeat("- ", 40000):                {2, 101},
		strings.Repeat("? ", 40000):                            {1, 101},
	} {
		fuzzguard.Run(t, func() {
			_, err := Parse("s.yaml", []byte(text))
			if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Msg, "deep") || [2]int{e.Line, e.Column} != place {
				t.Errorf("%.30q: %v, want an error at %v", text, err, place)
			}
		})
	}
}

func TestExponent(t *testing.T) {
	s, err := Parse("s.yaml", []byte("data: [a.csv]\nkernels: [rbf]\ndefaults: {set: {lengthscale: 1e-3}, bounds: {lengthscale: [1e-6, 1]}}\n"))
	if err != nil || s.Defaults.Set["lengthscale"] != 1e-3 || s.Defaults.Bounds["lengthscale"][0] != 1e-6 {
		t.Errorf("%v", err)
	}
}

// TestMerge checks that YAML anchors and merge keys work.
func TestMerge(t *testing.T) {
	s, err := Parse("s.yaml", []byte("defaults: &d {restarts: 3}\ndata: [a.csv]\nkernels:\n  - kernel: rbf\n    <<: *d\n"))
	if err != nil || *s.Kernels[0].Restarts != 3 {
		t.Errorf("%v", err)
	}
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	doc := testcheck.Get(jsonschema.UnmarshalJSON(bytes.NewReader(Schema)))(t)
	c := jsonschema.NewCompiler()
	testcheck.Do(t, c.AddResource("schema.json", doc))
	return testcheck.Get(c.Compile("schema.json"))(t)
}

func validate(t testing.TB, schema *jsonschema.Schema, text []byte) error {
	asJSON := testcheck.Get(yaml.YAMLToJSON(text))(t)
	v := testcheck.Get(jsonschema.UnmarshalJSON(bytes.NewReader(asJSON)))(t)
	return schema.Validate(v)
}

// TestSchemaAgrees checks that the schema and the Go types have the same keys everywhere
// and accept the same texts.
func TestSchemaAgrees(t *testing.T) {
	var raw map[string]any
	testcheck.Do(t, json.Unmarshal(Schema, &raw))
	defs := raw["$defs"].(map[string]any)
	properties := func(v any) []string {
		return slices.Collect(maps.Keys(v.(map[string]any)["properties"].(map[string]any)))
	}
	options := properties(defs["options"])
	for _, c := range []struct {
		name string
		keys []string
		t    reflect.Type
	}{
		{"spec", properties(raw), reflect.TypeFor[Batch]()},
		{"options", options, reflect.TypeFor[Options]()},
		{"data", append(properties(defs["data"]), options...), reflect.TypeFor[DataSet]()},
		{"kernel", append(properties(defs["kernel"]), options...), reflect.TypeFor[NamedKernel]()},
		{"override", append(properties(defs["override"]), options...), reflect.TypeFor[Override]()},
		{"match", properties(defs["match"]), reflect.TypeFor[Match]()},
		{"slurm", properties(defs["slurm"]), reflect.TypeFor[option.Slurm]()},
	} {
		known := slices.Sorted(maps.Keys(Fields(c.t)))
		slices.Sort(c.keys)
		if d := cmp.Diff(known, c.keys); d != "" {
			t.Errorf("%s: Go types (-) and schema (+): %s", c.name, d)
		}
	}
	schema := compileSchema(t)
	const ok, masked = "data: [a.csv]\nkernels: [rbf]\n", "data: [{path: a.csv, split_mask: m.csv}]\nkernels: [rbf]\n"
	for _, text := range []string{
		full, ok,
		"data: [a.csv]\n", ok + "sedes: [1]\n", ok + "defaults: {restrats: 1}\n", ok + "defaults: {restarts: -1}\n",
		ok + "defaults: {restarts: x}\n", ok + "defaults: {restarts: 1.5}\n", ok + "defaults: {target: 3, header: no}\n",
		ok + "defaults: {missing: keep}\n", ok + "defaults: {subsample: -1}\n", ok + "defaults: {prior: {a: 1}}\n", ok + "defaults: {tie: {a: b}, scores: [loo]}\n", ok + "defaults: {memory: 4GiB}\n", ok + "defaults: {memory: 4}\n", ok + "defaults: {memory: 4 parsecs}\n",
		ok + "defaults: {bounds: {a: [1]}}\n", ok + "defaults: {fix: {a: }}\n", ok + "defaults: {set: {a: }}\n", ok + "defaults: {set: {a: b}}\n",
		ok + "seeds: [1, 1]\n", ok + "seeds: [-1]\n", masked + "splits: all\n", ok + "splits: some\n", masked + "splits: [0, a]\n", ok + "splits: []\n",
		ok + "exclude: [{}]\n", ok + "exclude: [{data: [a]}]\n", ok + "slurm: {tasks: -1}\n", ok + "slurm: {tasks: 2}\n", ok + "slurm: {width: 2}\n",
		"data: [{name: a/b, path: a}]\nkernels: [rbf]\n", "data: [{name: a}]\nkernels: [rbf]\n", "data: ['']\nkernels: [rbf]\n",
		"data: [a]\nkernels: [{kernel: rbf, ard: true}]\n", "data: [a]\nkernels: [{name: a}]\n", "data: [a]\nkernels: [{kernel: rbf, path: a}]\n",
		ok + "defaults: {ard: 1}\n", ok + "defaults: {features: []}\n", ok + "defaults: {header: maybe}\n", ok + "overrides: [{restarts: 1}]\n",
	} {
		_, goErr := Parse("s.yaml", []byte(text))
		schemaErr := validate(t, schema, []byte(text))
		if (goErr == nil) != (schemaErr == nil) {
			t.Errorf("%q: Go says %v, the schema %v", text, goErr, schemaErr)
		}
	}
}

// TestExamples checks that the schema and the Go types accept every example spec.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/batch/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	schema, specs := compileSchema(t), 0
	for _, path := range files {
		text := testcheck.Get(os.ReadFile(path))(t)
		if strings.Contains(string(text), "apiVersion:") {
			continue
		}
		specs++
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		s, _, err := Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := s.Expand(filepath.Dir(path), Options{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if specs == 0 {
		t.Error("no spec among the examples")
	}
}
