//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
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
	change func(t *testing.T, dir string)
}

// The limits of a case. Its processor time does not depend on what else runs; badHang interrupts a command that
// waits for something.
const (
	badProcessor = 5 * time.Second
	badHang      = time.Minute
	badMemory    = 1 << 30 // that it allocates, with what it frees again
)

// TestBadInput runs every case of the file and of the tables. The command must
// stay within limits of time and memory, end with the documented exit code and a message
// that names the place, and change no file. -short takes every eighth case.
func TestBadInput(t *testing.T) {
	good := goodFiles(t)
	cases := slices.Concat(badCommands(t), badTables, badTexts, badSpecs, badModels, badRuns)
	if len(cases) < 150 {
		t.Errorf("%d cases", len(cases))
	}
	for i, c := range cases {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i, c.args), func(t *testing.T) { c.run(t, good) })
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
		"fit t.csv --kernel rbf --out m.gpfit --posterior none --save-factor", "fit t.csv --target b,y --features a --kernel rbf --out two.gpfit", "batch spec.yaml --out done",
		"fit vars.csv --features x --kernel rbf --noise-column v --noise-group lab --mean constant --out noisy.gpfit", "predict noisy.gpfit vars.csv", "predict noisy.gpfit plain.csv --noise-group-default a",
		"fit t.csv --out k.gpfit --checkpoint c --max-evals 3",
	} {
		inFolder(t, dir, args)
	}
	return dir
}

var word = regexp.MustCompile(`'([^']*)'|[^ ]+`)

func (c *badCase) run(t *testing.T, good string) {
	dir := t.TempDir()
	testcheck.Do(t, os.CopyFS(dir, os.DirFS(good)))
	for name, text := range c.files {
		write(t, dir, name, text)
	}
	if c.change != nil {
		c.change(t, dir)
	}
	ctx, cancel := context.WithTimeout(t.Context(), badHang)
	defer cancel()
	var args []string
	for _, w := range word.FindAllString(c.args, -1) {
		args = append(args, strings.Trim(w, "'"))
	}
	t.Chdir(dir)
	var out, messages strings.Builder
	before, began := snapshot(t, dir), usage(t)
	code := inProcess(ctx, args, &out, &messages)
	ended, stdout, text := usage(t), out.String(), messages.String()
	if ctx.Err() != nil {
		t.Fatalf("not done after %v", badHang)
	}
	if code != c.code {
		t.Errorf("exit code %d, want %d\n%s", code, c.code, text)
	}
	checkMessage(t, text, c.want)
	if took := ended.processor - began.processor; took > badProcessor {
		t.Errorf("took %v of processor time", took)
	}
	if took := ended.allocated - began.allocated; took > badMemory {
		t.Errorf("took %d MiB", took>>20)
	}
	if strings.Contains(stdout, "NaN") || strings.Contains(stdout, "Inf") {
		t.Errorf("printed a number that is not finite:\n%s", stdout)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("files before (-) and after (+):\n%s", diff)
	}
}

// used has the resources that this process has used.
type used struct {
	processor time.Duration
	allocated uint64 // bytes
}

func usage(t *testing.T) used {
	t.Helper()
	var u syscall.Rusage
	testcheck.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{time.Duration(u.Utime.Nano() + u.Stime.Nano()), m.TotalAlloc}
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
	for _, no := range []string{"goroutine ", "panic", "runtime error", "fatal error", "\x1b", "\x00", "%!", ": gp: ", ": graph: ", ": hyperopt: ", ": baseline: "} {
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
	testcheck.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
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
	}))
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

// badCommands reads the cases of testdata/badinput.txt.
func badCommands(t *testing.T) (all []badCase) {
	t.Helper()
	codes := map[string]int{"failure": exit.Failure, "usage": exit.Usage, "jobs failed": exit.SomeFailed, "data": exit.Data, "device": exit.Device}
	var code int
	var file, command string
	for line := range strings.Lines(string(testcheck.Get(os.ReadFile("testdata/badinput.txt"))(t))) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "$FORMATS", tableFormats)
		words, indented := strings.CutPrefix(line, "\t")
		if heading := badHeading.FindStringSubmatch(line); heading != nil {
			code, file, command = codes[heading[1]], heading[2], heading[3]
		}
		if !indented {
			continue
		}
		parts := strings.Split(words, "\t")
		for i, part := range parts {
			if strings.HasPrefix(part, `"`) {
				parts[i] = testcheck.Get(strconv.Unquote(part))(t)
			}
		}
		c := badCase{args: command, code: code, want: parts[1:]}
		switch {
		case file != "":
			c.files = map[string]string{file: parts[0]}
		case command == "@":
			c.args = parts[0]
		default:
			c.args = strings.Replace(command, "@", "'"+parts[0]+"'", 1)
		}
		all = append(all, c)
	}
	return all
}

var badHeading = regexp.MustCompile(`^(failure|usage|jobs failed|data|device)(?: (\S+))?: (.*)$`)

var badTables = badText("fit bad.csv --out new.gpfit", "bad.csv", exit.Data,
	[2]string{"PAR1" + strings.Repeat("\x00", 40) + "\xff\xff\xff\x7fPAR1", "its footer is longer than the file"},
	[2]string{"PAR1" + strings.Repeat("\xaa", 40) + "\x20\x00\x00\x00PAR1", "Parquet file is damaged"},
	[2]string{npyText("{'descr': '<f8', 'fortran_order': False, 'shape': (134000000, 3), }", 96), "96 bytes of elements, but its shape"},
	[2]string{npyText("{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 3), }", 96), "the array has the invalid shape"},
	[2]string{npyText("{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4611686018427387904), }", 96), "columns; gpfit reads at most"},
	[2]string{npyText("{'descr': '<c16', 'fortran_order': False, 'shape': (4, 3), }", 96), "gpfit reads only real numbers"},
	[2]string{npyText("{'descr': 'O', 'shape': }", 96), "NumPy header"},
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

// badTexts are long expressions.
var badTexts = []badCase{
	{args: "fit t.csv --kernel '" + strings.Repeat("(", 20_000) + "rbf'", code: exit.Usage, want: []string{"nested parentheses"}},
	{args: "fit t.csv --kernel '" + strings.Repeat("rbf+", 20_000) + "rbf'", code: exit.Usage, want: []string{"more than 1000 terms"}},
	{args: "fit t.csv --kernel '" + strings.Repeat("x", 100_000) + "'", code: exit.Usage, want: []string{"unknown kernel"}},
}
