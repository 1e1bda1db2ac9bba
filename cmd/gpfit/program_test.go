package main

import (
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gpfit/internal/testcheck"
	"gpfit/option"
)

// TestMain puts the test binary on PATH as gpfit, for tests that need a process. Under this name it is the program.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "gpfit" {
		main()
	}
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(self), "program") // a link needs the same file system
	if err != nil {
		log.Fatal(err)
	}
	name := "gpfit"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.Link(self, filepath.Join(dir, name)); err != nil {
		log.Fatal(err)
	}
	code := 1
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestScript runs the command line as a user does, with the scripts in testdata/script. "gpfit" in a script is a call of run,
// "exec gpfit" and the shell's gpfit are processes.
func TestScript(t *testing.T) {
	examples := testcheck.Get(filepath.Abs("../../examples"))(t)
	formats := testcheck.Get(filepath.Abs("../../table/testdata/formats"))(t)
	passengers := testcheck.Get(filepath.Abs("testdata/passengers"))(t)
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("FORMATS", formats)
			// Most scripts write one file several times; overwrite.txtar unsets this.
			env.Setenv("GPFIT_FORCE", "true")
			env.Setenv("PASSENGERS", passengers)
			return nil
		},
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"gpfit": func(ts *testscript.TestScript, fails bool, args []string) { inScript(t, ts, fails, args) }},
		Condition: condition,
	})
}

// inTurn is a test whose scripts run one after the other, because a process has one folder and one environment.
type inTurn struct{ *testing.T }

func (inTurn) Parallel() {}

func (inTurn) Verbose() bool { return testing.Verbose() }

func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// inScript runs the program in this process, in the folder and with the variables of a script.
func inScript(t *testing.T, ts *testscript.TestScript, fails bool, args []string) {
	back := testcheck.Get(os.Getwd())(t)
	testcheck.Do(t, os.Chdir(ts.MkAbs(".")))
	names := []string{"HOME", "TMPDIR", "XDG_CACHE_HOME", "COLUMNS"}
	for _, o := range option.All() {
		names = append(names, o.Variable())
	}
	restore := setVariables(names, ts.Getenv)
	code := inProcess(t.Context(), args, ts.Stdout(), ts.Stderr())
	restore()
	testcheck.Do(t, os.Chdir(back))
	if (code != 0) != fails {
		ts.Fatalf("exit code %d", code)
	}
}

// setVariables sets variables of the environment to their values, or unsets them for "", and returns a function
// that sets them back.
func setVariables(names []string, value func(name string) string) (restore func()) {
	before := map[string]string{}
	set := func(name, text string) {
		if os.Unsetenv(name); text != "" {
			os.Setenv(name, text)
		}
	}
	for _, name := range names {
		if name != "" {
			before[name] = os.Getenv(name)
			set(name, value(name))
		}
	}
	return func() {
		for name, text := range before {
			set(name, text)
		}
	}
}
