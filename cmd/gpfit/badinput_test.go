//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

// badCase is a command with something wrong in its input.
type badCase struct {
	// args are the arguments of gpfit. Single quotes enclose words with blanks.
	args string
	code int
	// want are parts of the message, such as the place and what to do.
	want []string
	// files are written first, by name, in addition to the good ones of goodFiles.
	files map[string]string
	// change, unless nil, changes the folder first.
	change func(dir string) error
}

// The limits of a case. Its processor time does not depend on what else runs; badHang ends
// a process that waits for something.
const (
	badProcessor = 5 * time.Second
	badHang      = time.Minute
	badMemory    = 1 << 30
)

// TestBadInput runs every case of the tables in a separate process. The process must
// stay within limits of time and memory, end with the documented exit code and a message
// that names the place, and change no file. -short takes every eighth case.
func TestBadInput(t *testing.T) {
	good := goodFiles(t)
	cases := slices.Concat(badTables, badFiles, badExpressions, badOptions, badSpecs, badModels, badRuns)
	if len(cases) < 150 {
		t.Errorf("%d cases", len(cases))
	}
	slots := make(chan bool, 2)
	for i, c := range cases {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i, c.args), func(t *testing.T) {
			t.Parallel()
			slots <- true
			defer func() { <-slots }()
			c.run(t, good)
		})
	}
}

// goodFiles makes a folder with a table and its split mask, model, checkpoint and run.
func goodFiles(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"t.csv": "a,b,y\n1,5,2.0\n2,3,2.9\n3,4,4.2\n4,1,4.9\n5,2,6.1\n6,9,6.8\n", "mask.csv": "m\n0\n0\n0\n0\n1\n1\n", "spec.yaml": "data: [t.csv]\nkernels: [rbf]\n",
		"vars.csv": "x,v,lab,y\n0,0.1,a,1\n1,0.1,a,2\n2,0.2,b,2.5\n3,0.1,b,4\n", "plain.csv": "x\n1\n",
	} {
		write(t, dir, name, text)
	}
	for _, args := range []string{
		"fit t.csv --out m.gpfit --save-factor", "fit t.csv --target b,y --features a --out two.gpfit", "batch spec.yaml --out done",
		"fit vars.csv --features x --noise-column v --noise-group lab --mean constant --out noisy.gpfit", "predict noisy.gpfit vars.csv", "predict noisy.gpfit plain.csv --noise-group-default a",
		"fit t.csv --out k.gpfit --checkpoint c --max-evals 3",
	} {
		cmd := exec.Command("gpfit", strings.Fields(args)...)
		cmd.Dir = dir
		if code, _, stderr := end(t, cmd); code != 0 {
			t.Fatalf("gpfit %s: exit code %d\n%s", args, code, stderr)
		}
	}
	return dir
}

var word = regexp.MustCompile(`'([^']*)'|[^ ]+`)

func (c *badCase) run(t *testing.T, good string) {
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(good)))
	for name, text := range c.files {
		write(t, dir, name, text)
	}
	if c.change != nil {
		must.Do(t, c.change(dir))
	}
	before := snapshot(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), badHang)
	defer cancel()
	var args []string
	for _, w := range word.FindAllString(c.args, -1) {
		args = append(args, strings.Trim(w, "'"))
	}
	cmd := exec.CommandContext(ctx, "gpfit", args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(""), &stdout, &stderr
	_ = cmd.Run() // the caller checks the exit code
	if ctx.Err() != nil {
		t.Fatalf("not done after %v", badHang)
	}
	text := stderr.String()
	if code := cmd.ProcessState.ExitCode(); code != c.code {
		t.Errorf("exit code %d, want %d\n%s", code, c.code, text)
	}
	checkMessage(t, text, c.want)
	if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took > badProcessor {
		t.Errorf("took %v of processor time", took)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss<<10 > badMemory {
		t.Errorf("took %d MiB", usage.Maxrss>>10)
	}
	if strings.Contains(stdout.String(), "NaN") || strings.Contains(stdout.String(), "Inf") {
		t.Errorf("printed a number that is not finite:\n%s", &stdout)
	}
	after := snapshot(t, dir)
	maps.DeleteFunc(after, func(name, is string) bool {
		was, found := before[name]
		delete(before, name)
		if found && was == is {
			return true
		}
		t.Errorf("%s changed from %q to %q", name, was, is)
		return true
	})
	if len(before) > 0 {
		t.Errorf("gone: %v", before)
	}
}

// checkMessage checks that the message contains want, on a few lines without control characters.
func checkMessage(t *testing.T, text string, want []string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in the message:\n%s", w, text)
		}
	}
	if len(want) == 0 || !strings.Contains("\n"+text, "\ngpfit: ") || len(text) > 6000 {
		t.Errorf("the message is missing or too long, or the case wants nothing: %.6000s", text)
	}
	for _, no := range []string{"goroutine ", "panic", "runtime error", "fatal error", "\x1b", "\x00", "%!"} {
		if strings.Contains(text, no) {
			t.Errorf("%q in the message:\n%s", no, text)
		}
	}
}

// snapshot returns the mode and the sum of every file. It leaves out the sums of a run's
// lock, which names the last reader, and of large files, which no mistake changes.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() && info.Size() < 1<<20 && d.Name() != "lock" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(text))[:8]
		}
		all[strings.TrimPrefix(path, dir)] = info.Mode().String() + " " + sum
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// badText returns cases of one command with bad texts of a file.
func badText(args, name string, code int, texts ...[2]string) []badCase {
	var all []badCase
	for _, text := range texts {
		all = append(all, badCase{args: args, code: code, want: []string{text[1]}, files: map[string]string{name: text[0]}})
	}
	return all
}

// badWords returns cases of one command with bad words of an option.
func badWords(command, option string, code int, words ...[2]string) []badCase {
	var all []badCase
	for _, w := range words {
		all = append(all, badCase{args: command + " " + option + " '" + w[0] + "'", code: code, want: []string{w[1]}})
	}
	return all
}

var badTables = badText("fit bad.csv --out new.gpfit", "bad.csv", exit.Data,
	[2]string{"", "bad.csv: the file is empty"},
	[2]string{"\n\n# nothing\n", "no data rows"},
	[2]string{"x,y\n", "bad.csv:1: no data rows, only a header"},
	[2]string{"x,y\n1,2\n", "at least 2 training rows"},
	[2]string{"x,y\n1,2\n2,two\n3,4\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,\n3,4\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,NaN\n3,4\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,inf\n3,4\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,1e999\n3,4\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,0x1p2\n3,4\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,1_000\n3,4\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,\"3\n4,5\n", "a quote opens here that is never closed"},
	[2]string{"x,y\n1,2\n2,\"3\"x\n4,5\n", "text after the closing quote"},
	[2]string{"x,y\n1,2\n2,3\"x\n4,5\n", "a quote inside a cell"},
	[2]string{"x,y\n1,2\n2,3,4\n5,6\n", "bad.csv:3: "},
	[2]string{"x,y\n1,2\n2\n5,6\n", "bad.csv:3: "},
	[2]string{"x,y\n1,2\n2,\x00\n5,6\n", "bad.csv:3: contains a zero byte"},
	[2]string{"x,y\n1,2\n2,\x1b[31m\n5,6\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"x,y\n1,2\n2,\xff\xfe\n5,6\n", `bad.csv:3: column 2 ("y"): `},
	[2]string{"\xff\xfex\x00,\x00y\x00", "UTF-16"},
	[2]string{"\x28\xb5\x2f\xfd....", "zstd"},
	[2]string{"\xfd7zXZ\x00....", "xz-compressed"},
	[2]string{"\x89HDF\r\n\x1a\n", "HDF5"},
	[2]string{"PK\x03\x04....", "zip archive"},
	[2]string{"PAR1PAR1", "Parquet file is damaged"},
	[2]string{"PAR1" + strings.Repeat("\x00", 40) + "\xff\xff\xff\x7fPAR1", "its footer is longer than the file"},
	[2]string{"PAR1" + strings.Repeat("\xaa", 40) + "\x20\x00\x00\x00PAR1", "Parquet file is damaged"},
	[2]string{"\x93NUMPY", "the NumPy header is missing"},
	[2]string{"\x93NUMPY\x02\x00\xff\xff\xff\xff", "NumPy header is longer"},
	[2]string{npyText("{'descr': '<f8', 'fortran_order': False, 'shape': (134000000, 3), }", 96), "96 bytes of elements, but its shape"},
	[2]string{npyText("{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 3), }", 96), "the array has the invalid shape"},
	[2]string{npyText("{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4611686018427387904), }", 96), "columns; gpfit reads at most"},
	[2]string{npyText("{'descr': '<c16', 'fortran_order': False, 'shape': (4, 3), }", 96), "gpfit reads only real numbers"},
	[2]string{npyText("{'descr': 'O', 'shape': }", 96), "NumPy header"},
	[2]string{"\x1f\x8b", "gzip"},
	[2]string{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff", "gzip"},
	[2]string{"x,y\n1,1\n1,2\n1,3\n", "every feature column is constant"},
	[2]string{"x,y\n1,2\n2,2\n3,2\n", `the target "y" is constant`},
	[2]string{"y\n1\n2\n3\n", "no feature column"},
	[2]string{"x,y\n1e160,2\n2,3\n3,4\n", "divide the column by a power of ten"},
	[2]string{"x,y\n1e-200,2\n2e-200,3\n3e-200,4\n", "multiply the column by a power of ten"},
	[2]string{"x,y\n1,2e200\n2,3\n3,4\n", "divide the column by a power of ten"},
	[2]string{"x,y\n1,2e-300\n2,3e-300\n3,4.5e-300\n", "multiply the column by a power of ten"},
	[2]string{strings.Repeat("1,", 5000) + "1\n" + strings.Repeat("2,", 4000) + "1\n", "bad.csv:2: "},
	[2]string{"x,y\n" + strings.Repeat("9", 100_000) + "e,1\n1,2\n", "bad.csv:2: "},
)

// npyText returns a NumPy file with a header and the given number of bytes of elements.
func npyText(header string, bytes int) string {
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + strings.Repeat("\x00", bytes)
}

// tableFormats is a folder of tables in many formats.
var tableFormats, _ = filepath.Abs("../../table/testdata/formats")

var badFiles = []badCase{
	{args: "fit " + tableFormats + "/nan.npy", code: exit.Data, want: []string{"not a finite number"}},
	{args: "fit " + tableFormats + "/words.npz", code: exit.Data, want: []string{"reads only real numbers"}},
	{args: "fit " + tableFormats + "/types.parquet", code: exit.Data, want: []string{"holds decimals"}},
	{args: "fit " + tableFormats, code: exit.Data, want: []string{"complex.npy"}},
	{args: "fit bad.csv --features x --noise-column v", code: exit.Data, want: []string{"must be a number from 0"}, files: map[string]string{"bad.csv": "x,v,y\n0,1,1\n1,-1,2\n2,1,3\n"}},
	{args: "predict noisy.gpfit plain.csv", code: exit.Usage, want: []string{"give --noise-group or --noise-group-default"}},
	{args: "predict noisy.gpfit other.csv", code: exit.Data, want: []string{`no noise group "c"`}, files: map[string]string{"other.csv": "x,lab\n1,c\n"}},
	{args: "predict noisy.gpfit other.csv", code: exit.Data, want: []string{"the noise variance is -1"}, files: map[string]string{"other.csv": "x,lab,v\n1,a,-1\n"}},
	{args: "fit nofile.csv", code: exit.Data, want: []string{"nofile.csv: no such file"}},
	{args: "fit .", code: exit.Data, want: []string{`contains the directory "done"`}},
	{args: "fit 'no*.csv'", code: exit.Data, want: []string{"no file matches"}},
	{args: "fit '[.csv'", code: exit.Data, want: []string{"[.csv: "}},
	{args: "fit '*.c*v' --out new.gpfit", code: exit.Data, want: []string{"mask.csv:1: "}},
	{args: "fit -", code: exit.Data, want: []string{"standard input: the file is empty"}},
	{args: "fit t.csv --split-mask mask.csv:z", code: exit.Data, want: []string{`no column named "z"`}},
	{args: "fit t.csv --split-mask none.csv", code: exit.Data, want: []string{"none.csv"}},
	{args: "fit t.csv --split-mask bad.csv", code: exit.Data, want: []string{"bad.csv"}, files: map[string]string{"bad.csv": "0\n1\n2\n0\n0\n0\n"}},
	{args: "fit t.csv --split-mask bad.csv", code: exit.Data, want: []string{"holds out every row"}, files: map[string]string{"bad.csv": "1\n1\n1\n1\n1\n1\n"}},
	{args: "fit t.csv --split-mask bad.csv", code: exit.Data, want: []string{"rows"}, files: map[string]string{"bad.csv": "0\n1\n"}},
}

// badExpressions are bad kernels, means and priors.
var badExpressions = slices.Concat(
	badWords("fit t.csv", "--kernel", exit.Usage,
		[2]string{"", "expected a kernel"}, [2]string{"rbf(", "expected an argument of rbf"}, [2]string{"rbf)", "expected '+', '*' or the end"},
		[2]string{"rbf + mattern32", `did you mean "matern32"`}, [2]string{"rbf rbf", "expected '+'"}, [2]string{"rbf(ard, ard)", "given twice"},
		[2]string{"rbf(dims=9)", "9"}, [2]string{"rbf(dims=-1)", "index from 0"}, [2]string{"rbf(dims=[0, 0])", "given twice"},
		[2]string{"rbf(lengthscale=-1)", "a positive number"}, [2]string{"rbf(lengthscale=inf)", "a positive number"}, [2]string{"rbf(lengthscale=nan)", "a positive number"},
		[2]string{"rbf(lengthscale=1e999)", "a positive number"}, [2]string{"rbf(legnthscale=1)", `did you mean "lengthscale"`}, [2]string{"poly(0)", "from 1 to 100"},
		[2]string{"poly(99999999999999999999)", "from 1 to 100"}, [2]string{"poly(1.5)", "from 1 to 100"}, [2]string{"+rbf", "expected a kernel"},
		[2]string{"rbf**rbf", "expected a kernel"}, [2]string{"ядро", `unknown kernel "ядро"`}, [2]string{"\x1b[31mrbf", "expected a kernel"},
		[2]string{strings.Repeat("(", 20_000) + "rbf", "nested parentheses"}, [2]string{strings.Repeat("rbf+", 20_000) + "rbf", "more than 1000 terms"},
		[2]string{strings.Repeat("x", 100_000), "unknown kernel"}, [2]string{"rbf(dims=[0,1,2,3,4,5,6,7,8,9999999999])", "dims"},
	),
	badWords("fit t.csv", "--mean", exit.Usage,
		[2]string{"cubic", `unknown mean function "cubic"`}, [2]string{"poly", "needs a degree"}, [2]string{"poly(1000000)", "from 1 to"},
		[2]string{"bumps(0)", "from 1 to"}, [2]string{"linear(dims=7)", "7"}, [2]string{"zero + linear", "zero cannot be combined"},
		[2]string{"poly(5)", "choose a simpler mean function"}, [2]string{"bumps(50, dims=0)", "bumps"}, [2]string{"linear(", "dims"},
	),
	badWords("fit t.csv", "--prior", exit.Usage,
		[2]string{"noise_variance", "needs NAME=DENSITY"}, [2]string{"noise_variance=norml(0,1)", "unknown density"}, [2]string{"noise_variance=gamma(2)", "is missing"},
		[2]string{"noise_variance=gamma(-1, 2)", "must be positive"}, [2]string{"noise_variance=gamma(nan, 2)", "needs a finite number"},
		[2]string{"noise_variance=lognormal(0, 1, 2)", "too many arguments"}, [2]string{"noise_variance=lognormal(0, 1e-200)", "too large or too small"},
		[2]string{"nose_variance=gamma(2, 1)", `did you mean "noise_variance"`},
	),
)

// badOptions are bad values of flags.
var badOptions = slices.Concat(
	badWords("fit t.csv", "--set", exit.Usage,
		[2]string{"lengthscale", "needs NAME=VALUE"}, [2]string{"lengthscale=x", "is not a number"}, [2]string{"lengthscale=-1", "lengthscale"},
		[2]string{"lengthscale=nan", "lengthscale"}, [2]string{"lengthscale=inf", "lengthscale"}, [2]string{"lenghtscale=1", "did you mean"}, [2]string{"=1", "needs a parameter's name"},
	),
	badWords("fit t.csv", "--fix", exit.Usage, [2]string{"noise_variance=nan", "noise_variance"}, [2]string{"noise_variance=1e400", "is not a number"}, [2]string{"x=1", "no such parameter"}),
	badWords("fit t.csv", "--bounds", exit.Usage,
		[2]string{"lengthscale=1", "needs NAME=LO:HI"}, [2]string{"lengthscale=2:1", "lengthscale"}, [2]string{"lengthscale=nan:1", "lengthscale"},
		[2]string{"lengthscale=0:inf", "lengthscale"}, [2]string{"lengthscale=-1:1", "lengthscale"},
	),
	badWords("fit t.csv", "--tie", exit.Usage, [2]string{"lengthscale", "needs NAME=OTHER"}, [2]string{"lengthscale=lengthscale", "lengthscale"}, [2]string{"lengthscale=x", "x"}),
	badWords("fit t.csv", "--threads", exit.Usage, [2]string{"-1", "must be from 0 to 1024"}, [2]string{"100000", "must be from 0 to 1024"}, [2]string{"1e3", "invalid"}, [2]string{"99999999999999999999", "out of range"}),
	badWords("fit t.csv", "--restarts", exit.Usage, [2]string{"-1", "must be from 0 to 10000"}, [2]string{"1000000000000", "must be from 0 to 10000"}, [2]string{"x", "must be a whole number"}),
	badWords("fit t.csv", "--max-evals", exit.Usage, [2]string{"-1", "must not be negative"}, [2]string{"x", "invalid"}),
	badWords("fit t.csv", "--subsample", exit.Usage, [2]string{"-1", "must not be negative"}, [2]string{"1.5", "invalid"}),
	badWords("fit t.csv", "--missing", exit.Usage, [2]string{"maybe", "must be error or drop"}),
	badWords("fit t.csv --mean linear", "--mean-fit", exit.Usage, [2]string{"ols", "must be auto, gls or free"}),
	badWords("fit t.csv --noise-group a", "--noise", exit.Usage, [2]string{"some", "must be estimated or none"}, [2]string{"none", "cannot be combined with noise groups"}),
	badWords("fit vars.csv --features x", "--noise-column", exit.Data, [2]string{"w", `no column named "w"`}, [2]string{"lab", "not a number"}),
	badWords("predict m.gpfit t.csv", "--noise-column", exit.Usage, [2]string{"a", "fitted without known variances"}),
	badWords("predict m.gpfit t.csv", "--noise-group", exit.Usage, [2]string{"a", "the model has no noise groups"}),
	badWords("predict noisy.gpfit vars.csv", "--noise-column", exit.Data, [2]string{"w", `no column named "w"`}),
	badWords("predict noisy.gpfit plain.csv", "--noise-group-default", exit.Usage, [2]string{"c", `the model has no noise group "c"`}),
	badWords("fit t.csv", "--subsample", exit.Data, [2]string{"1", "at least 2 training rows"}),
	badWords("fit t.csv", "--max-jitter", exit.Usage, [2]string{"nan", "must be a nonnegative number"}, [2]string{"inf", "must be a nonnegative number"}),
	badWords("fit t.csv", "--standardize", exit.Usage, [2]string{"yx", "must be xy, x, y or none"}),
	badWords("fit t.csv", "--target", exit.Data, [2]string{"z", "there are"}, [2]string{"7", "out of range"}, [2]string{"-9", "out of range"}, [2]string{"y,y", "listed twice"})[1:],
	badWords("fit t.csv", "--features", exit.Data, [2]string{"y", "also listed as a feature"}, [2]string{"a,a", "listed twice"}, [2]string{"2-0", "runs backwards"}, [2]string{"0-99", "out of range"}),
	badWords("fit t.csv", "--noise-group", exit.Data, [2]string{"a", "noise groups"}, [2]string{"z", `no column named "z"`}),
	badWords("fit t.csv --scores cv", "--folds", exit.Usage, [2]string{"1", "must be at least 2"}, [2]string{"7", "7 folds of 6 rows"}, [2]string{"1000000000000", "folds of 6 rows"}),
	badWords("fit t.csv", "--device", exit.Device, [2]string{"tpu", "no such kind of device"}, [2]string{"cuda:99999999999999999999", "cuda"}, [2]string{"cuda:9", "cuda:9"}),
	badWords("fit t.csv", "--out", exit.Usage, [2]string{".", "is a folder"}, [2]string{"no/m", "there is no folder no; make it first"}, [2]string{"t.csv", "is also an input"}, [2]string{"mask.csv", "mask.csv: the file exists"}, [2]string{"./done/../t.csv", "is also an input"}),
	badWords("fit t.csv --out n.gpfit", "--checkpoint", exit.Usage, [2]string{"n.gpfit", "is also the file of --out"}, [2]string{"t.csv", "is also an input"}, [2]string{"mask.csv", "is not a checkpoint"}, [2]string{".", "is a folder"}),
	badWords("nlml t.csv", "--graph", exit.Usage, [2]string{"t.csv", "is also an input"}, [2]string{"done", "is a folder"}),
	badWords("sample --prior rbf --quiet", "--grid", exit.Usage, [2]string{"0:1", "needs LO:HI:COUNT"}, [2]string{"1:0:3", "LO < HI"}, [2]string{"0:inf:3", "LO < HI"}, [2]string{"0:1:1000000000", "needs LO:HI:COUNT"}),
	badWords("sample --prior rbf --quiet", "--grid", exit.Device, [2]string{"0:1:16000000", "of memory"}),
	badWords("sample --prior rbf --grid 0:1:3", "--draws", exit.Device, [2]string{"1000000000000", "of memory"}),
	badWords("sample --prior rbf --grid 0:1:3", "--set", exit.Usage, [2]string{"lengthscale=-1", "positive"}, [2]string{"lengthscale=nan", "finite"}, [2]string{"x=1", "no such parameter"}),
	badWords("bench --n 3", "--repeat", exit.Usage, [2]string{"0", "must be from 1 to"}, [2]string{"1000000000000", "must be from 1 to"}),
	badWords("bench", "--n", exit.Usage, [2]string{"1", "at least 2 rows"}, [2]string{"x", "invalid"}),
	badWords("bench --data t.csv", "--n", exit.Usage, [2]string{"5,7", "has 6 rows"}),
	badWords("bench --n 3", "--d", exit.Usage, [2]string{"0", "--d 0"}),
	badWords("bench --n 3 --data t.csv", "--d", exit.Usage, [2]string{"3", "--d is for a synthetic table"}),
	badWords("bench --n 3", "--target", exit.Usage, [2]string{"y", "give --data"}),
	badWords("bench --n 3", "--plot", exit.Usage, [2]string{"speed.gif", ".svg, .png or .pdf"}, [2]string{"no/folder.svg", "there is no folder no"}),
	badWords("bench --n 3", "--kernel", exit.Usage, [2]string{"rbff", `did you mean "rbf"`}),
	badWords("bench --n 3", "--set", exit.Usage, [2]string{"lengthscales=1", "did you mean"}),
	badWords("bench --n 3", "--sizes", exit.Usage, [2]string{"10", "unknown flag"}),
	badWords("bench --n 3", "--device", exit.Device, [2]string{"cpu,quantum", "quantum"}),
	badWords("bench --n 3", "--device", exit.Usage, [2]string{"cpu,cpu", "twice"}),
	badWords("bench --n 3", "--data", exit.Data, [2]string{"missing.csv", "missing.csv"}),
	badWords("bench", "--n", exit.Device, [2]string{"100000000000", "of memory"}),
	badWords("select t.csv --kernels rbf", "--score", exit.Usage, [2]string{"bci", "must be"}),
	[]badCase{
		{args: "fti", code: exit.Usage, want: []string{`did you mean "fit"`}},
		{args: "fit", code: exit.Usage, want: []string{"expected DATA"}},
		{args: "fit t.csv --nope", code: exit.Usage, want: []string{"unknown flag --nope"}},
		{args: "bench t.csv", code: exit.Usage, want: []string{"1 argument, expected none"}},
		{args: "bench --n 10 --set lengthscale=1e10 --set signal_variance=1 --set noise_variance=1e-300", code: exit.Failure, want: []string{"raise noise_variance"}}, // all elements of the matrix are exactly 1
		{args: "fit t.csv m.gpfit", code: exit.Usage, want: []string{"2 arguments, expected DATA"}},
		{args: "fit t.csv --restart 3", code: exit.Usage, want: []string{`did you mean "restarts"`}},
		{args: "select t.csv", code: exit.Usage, want: []string{"give --kernels"}},
		{args: "select t.csv --kernels rbf( --kernels rbf", code: exit.Usage, want: []string{"expected an argument of rbf"}},
		{args: "nlml t.csv --set lengthscale=1e10 --set noise_variance=1e-300", code: exit.Failure, want: []string{"raise noise_variance"}},
		{args: "nlml t.csv --standardize none --kernel poly(100) --features a --set offset=1e300", code: exit.Failure, want: []string{"double precision"}},
	},
)
