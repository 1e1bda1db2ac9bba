package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gpfit": main})
}

// TestScript runs the command line as a user does, with the scripts in testdata/script.
func TestScript(t *testing.T) {
	examples := must.Get(filepath.Abs("../../examples"))(t)
	formats := must.Get(filepath.Abs("../../table/testdata/formats"))(t)
	passengers := must.Get(filepath.Abs("testdata/passengers"))(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("FORMATS", formats)
			// Most scripts write one file several times; overwrite.txtar unsets this.
			env.Setenv("GPFIT_FORCE", "true")
			env.Setenv("PASSENGERS", passengers)
			return nil
		},
		Condition: condition,
	})
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
// the best model so far, which predicts, and exit with code 130.
func TestInterrupt(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.gpfit")
	code, stdout, stderr := interrupt(t, "iteration 0", "fit", "../../examples/co2.csv", "--device", "cpu", "--out", model)
	if code != exit.Interrupted || !strings.Contains(stderr, "the best model so far is in") || !strings.Contains(stdout, "cancelled") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if lines := strings.Count(mustLine(t, "predict", model, "../../examples/co2_new.csv"), "\n"); lines != 25 {
		t.Errorf("%d lines of predictions, want a header and 24", lines)
	}
}
