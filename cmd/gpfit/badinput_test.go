//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
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

// checkMessage checks that the message contains want, on a few lines without control
// characters.
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
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
