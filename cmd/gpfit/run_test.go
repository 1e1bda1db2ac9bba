package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// inProcess runs the program in this process. A command leaves little in memory, but collecting it often takes as long as the
// command.
func inProcess(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	const percent = 400
	if os.Getenv("GOGC") == "" {
		os.Setenv("GOGC", fmt.Sprint(percent)) // or a fit would choose
		defer os.Unsetenv("GOGC")
	}
	debug.SetGCPercent(percent)
	return run(ctx, args, strings.NewReader(""), stdout, stderr)
}

// runLine runs the program in this process and returns what it prints.
func runLine(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, messages strings.Builder
	code = inProcess(t.Context(), args, &out, &messages)
	return code, out.String(), messages.String()
}

// mustLine runs a command that must succeed and returns what it prints.
func mustLine(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := runLine(t, args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d\n%s", args, code, stderr)
	}
	return stdout
}

// ends runs a command that must end with a code and with a word in its messages.
func ends(t *testing.T, want int, word string, args ...string) {
	t.Helper()
	if code, _, stderr := runLine(t, args...); code != want || !strings.Contains(stderr, word) {
		t.Errorf("%q: exit code %d, want %d and %q in\n%s", args, code, want, word, stderr)
	}
}

// absent fails if there is a file.
func absent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		t.Errorf("there is %s", path)
	}
}

// twoAtATime lets two parallel tests work at the same time, each until its end.
func twoAtATime(t *testing.T, slots chan bool) {
	t.Parallel()
	slots <- true
	t.Cleanup(func() { <-slots })
}

// decodeLine runs a command that must succeed and decodes the JSON that it prints.
func decodeLine(t *testing.T, into any, args ...string) {
	t.Helper()
	testcheck.Do(t, json.Unmarshal([]byte(mustLine(t, args...)), into))
}

// cancelWriter cancels a context when a line with the given word passes.
type cancelWriter struct {
	strings.Builder
	word   string
	cancel context.CancelFunc
}

func (w *cancelWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.word) {
		w.cancel()
	}
	return w.Builder.Write(p)
}

// interrupt runs a command and cancels it, as Ctrl-C does, when a line with the word appears
// on standard error.
func interrupt(t *testing.T, word string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	messages := &cancelWriter{word: word, cancel: cancel}
	code = inProcess(ctx, args, &out, messages)
	return code, out.String(), messages.String()
}

// end runs a process and returns its exit code and outputs.
func end(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, messages strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &messages
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), messages.String()
}

// stdoutOf runs a program, which must succeed, and returns what it prints.
func stdoutOf(t *testing.T, name string, args ...string) string {
	t.Helper()
	code, stdout, stderr := end(t, exec.Command(name, args...))
	if code != 0 {
		t.Fatalf("%s %s: exit code %d\n%s%s", name, strings.Join(args, " "), code, stdout, stderr)
	}
	return strings.TrimSpace(stdout)
}

// write writes a file into a folder and returns its path.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	testcheck.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// times are the places of numbers that differ from run to run, and of files.
var times = regexp.MustCompile(`/(seconds|evaluation_seconds|peak_bytes|model_file)$`)

// leaves returns the values of JSON objects, one after the other, by their places, and the lengths
// of lists. It leaves out places that match without, if that is not nil.
func leaves(t *testing.T, text string, without *regexp.Regexp) map[string]any {
	t.Helper()
	out := map[string]any{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(at+"/"+name, inner)
			}
		case []any:
			walk(at+"/#", float64(len(v)))
			for i, inner := range v {
				walk(fmt.Sprint(at, "/", i), inner)
			}
		default:
			if without == nil || !without.MatchString(at) {
				out[at] = v
			}
		}
	}
	d := json.NewDecoder(strings.NewReader(text))
	for i := 0; d.More(); i++ {
		var v any
		testcheck.Do(t, d.Decode(&v))
		walk(fmt.Sprint(i), v)
	}
	if len(out) == 0 {
		t.Fatalf("no values in %q", text)
	}
	return out
}

// closeLeaves compares numbers up to a tolerance, and other values unless they may differ.
func closeLeaves(t *testing.T, what string, got, want map[string]any, numbersOnly bool, tolerance func(at string, v float64) float64) {
	t.Helper()
	for at, w := range want {
		number, ok := w.(float64)
		is, found := got[at].(float64)
		switch {
		case !ok && (numbersOnly || got[at] == w):
		case ok && found && math.Abs(is-number) <= tolerance(at, number):
		default:
			t.Errorf("%s: %s is %v, want %v", what, at, got[at], w)
		}
	}
}

// withoutRecord returns the contents of a model file except the report of its fit,
// which has seconds.
func withoutRecord(t *testing.T, path string) string {
	t.Helper()
	archive := testcheck.Get(zip.OpenReader(path))(t)
	defer archive.Close()
	var out strings.Builder
	for _, f := range archive.File {
		if f.Name != "fit.json" {
			text := testcheck.Get(io.ReadAll(testcheck.Get(f.Open())(t)))(t)
			fmt.Fprintf(&out, "%s\n%s", f.Name, text)
		}
	}
	return out.String()
}

// condition decides the conditions of the scripts: devfull means that a device that is
// always full exists, hup that the tests do not run under nohup, which ignores SIGHUP.
func condition(name string) (bool, error) {
	switch name {
	case "devfull":
		_, err := os.Stat("/dev/full")
		return err == nil, nil
	case "hup":
		return !signal.Ignored(syscall.SIGHUP), nil
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// TestInterrupt cancels a fit as Ctrl-C does, after its first iteration. gpfit must write
// the best model so far, which predicts, and exit with code 130. The command that it then advises works.
func TestInterrupt(t *testing.T) {
	examples := testcheck.Get(filepath.Abs("../../examples"))(t)
	t.Chdir(t.TempDir())
	model := "next.gpfit"
	code, stdout, stderr := interrupt(t, "evaluation", "fit", examples+"/co2.csv", "--kernel", "rbf", "--restarts", "20", "--device", "cpu", "--out", model)
	if code != exit.Interrupted || !strings.Contains(stderr, "the best model so far is in") || !strings.Contains(stdout, "status                 interrupted") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if lines := strings.Count(mustLine(t, "predict", model, examples+"/co2_new.csv"), "\n"); lines != 25 {
		t.Errorf("%d lines of predictions, want a header and 24", lines)
	}
	_, advice, found := strings.Cut(stdout, ": gpfit fit ")
	advice, _, _ = strings.Cut(advice, "\n")
	if !found || !strings.Contains(advice, "--from next.gpfit --out continued.gpfit") {
		t.Fatalf("advice %q in\n%s", advice, stdout)
	}
	mustLine(t, append([]string{"fit"}, strings.Fields(advice)...)...)
}

// TestBuild checks what a program says about its source, for each way to build it.
func TestBuild(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "965db3562a6f"}, {Key: "vcs.time", Value: "2026-11-22T14:26:33Z"}, {Key: "vcs.modified", Value: modified}}
	}
	const pseudo = "v0.0.0-20261122142633-965db3562a6f"
	for _, c := range []struct {
		name, released, module string
		settings               []debug.BuildSetting
		version, revision      string
	}{
		{"make release", "0.2.0", pseudo, vcs("false"), "0.2.0", "965db3562a6f"},
		{"go install at a tag", "", "v0.2.0", nil, "0.2.0", "unknown revision"},
		{"go install of a candidate", "", "v0.2.0-rc.1", nil, "0.2.0-rc.1", "unknown revision"},
		{"go install at a commit", "", pseudo, nil, version + "-dev", "965db3562a6f"},
		{"go build at a tag", "", "v0.2.0", vcs("false"), "0.2.0", "965db3562a6f"},
		{"go build at a tag with changes", "", "v0.2.0+dirty", vcs("true"), version + "-dev", "965db3562a6f+changes"},
		{"go build", "", pseudo, vcs("false"), version + "-dev", "965db3562a6f"},
		{"go build -buildvcs=false", "", "(devel)", nil, version + "-dev", "unknown revision"},
		{"no information", "", "", nil, version + "-dev", "unknown revision"},
	} {
		b := newBuild(&debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}, c.released)
		if b.Version != c.version || b.Revision != c.revision || b.Modified != strings.HasSuffix(c.revision, "+changes") || (b.Time == nil) != (c.settings == nil) {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
	b := newBuild(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-tags", Value: "nogpu,cu"}}}, "")
	if !slices.Equal(b.Tags, []string{"cu", "nogpu"}) {
		t.Errorf("tags %v", b.Tags)
	}
}

// kill ends a program that runs, as kill -9 does.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	testcheck.Do(t, cmd.Process.Kill())
	_ = cmd.Wait()
}
