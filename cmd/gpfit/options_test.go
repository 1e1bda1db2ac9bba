package main

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/batch/spec"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/internal/testcheck"
	"gpfit/option"
)

// commands returns all commands by their names, such as "kernel check".
func commands(root *cobra.Command) map[string]*cobra.Command {
	out := map[string]*cobra.Command{}
	for _, c := range allCommands(root) {
		out[strings.TrimPrefix(c.CommandPath(), "gpfit ")] = c
	}
	return out
}

// TestOptions checks that every entry of the table is a flag of the commands that it
// names, with its variable, under its heading in the help; a key of a spec, if it has
// that place; and an entry of the reference page.
func TestOptions(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	page := testcheck.Get(os.ReadFile("../../docs/options.md"))(t)
	keys := spec.Fields(reflect.TypeFor[spec.Options]())
	helps := map[string]string{}
	all := commands(newRoot("", nil, nil, io.Discard))
	for name, cmd := range all {
		var help bytes.Buffer
		cmd.Root().SetOut(&help)
		flags.Help(cmd, nil)
		helps[name] = help.String()
	}
	for _, o := range option.All() {
		if !strings.Contains(string(page), "\n## "+o.Name+"\n") {
			t.Errorf("docs/options.md lacks %s", o.Name)
		}
		for _, place := range o.Places {
			place = strings.TrimSuffix(place, ", every job")
			if place == option.Spec {
				if keys[o.Key()] == nil || !strings.Contains(string(spec.Schema), `"`+o.Key()+`": {`) {
					t.Errorf("a spec lacks %s", o.Key())
				}
				continue
			}
			checkFlag(t, o, place, all[place], helps[place])
		}
	}
}

func checkFlag(t *testing.T, o option.Option, place string, cmd *cobra.Command, help string) {
	t.Helper()
	if cmd == nil {
		t.Errorf("%s: there is no command %q", o.Name, place)
		return
	}
	f := cmd.Flags().Lookup(o.Name)
	if f == nil {
		t.Errorf("gpfit %s lacks --%s", place, o.Name)
		return
	}
	if o.Kind.Flag != (f.NoOptDefVal != "") {
		t.Errorf("gpfit %s --%s: takes a value: %v", place, o.Name, f.NoOptDefVal)
	}
	if heading := strings.Index(help, "\n"+string(o.Group)+":\n"); place != "batch" && (heading < 0 || !strings.Contains(help[heading:], "--"+o.Name)) {
		t.Errorf("gpfit help %s: --%s is not below %s", place, o.Name, o.Group)
	}
	if o.Variable() == "" {
		return
	}
	const text = "from the environment"
	t.Setenv(o.Variable(), text)
	_ = flags.Read(cmd) // most options refuse the text
	if got := f.Value.String(); got != text {
		t.Errorf("gpfit %s: %s=%q gives --%s %q", place, o.Variable(), text, o.Name, got)
	}
	os.Unsetenv(o.Variable())
}

// TestFlagsOutsideTable checks that every flag comes from the table of options.
func TestFlagsOutsideTable(t *testing.T) {
	for place, cmd := range commands(newRoot("", nil, nil, nil)) {
		if strings.HasPrefix(place, "completion") {
			continue // cobra's
		}
		known := map[string]bool{"help": true}
		for _, o := range option.All() {
			if o.In(place) || place == "batch" && o.In(option.Every) {
				known[o.Name], known[o.Former] = true, true
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !known[f.Name] {
				t.Errorf("gpfit %s --%s is not in the table of option", place, f.Name)
			}
		})
	}
}

// allCommands returns a command and the commands below it.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, allCommands(c)...)
	}
	return all
}

// foreign are flags that a help names for another program or for another command of gpfit.
var foreign = regexp.MustCompile(`sbatch --[a-z-]+|such as --exclude=node7|gpfit [a-z]+ [^;.]*--[a-z-]+`)

// TestHelpAgreesWithFlags checks for every command that the help lists each of its flags
// once, that each flag that the help names exists, and that the examples parse.
func TestHelpAgreesWithFlags(t *testing.T) {
	root := newRoot("", strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	named := regexp.MustCompile(`--[a-z][a-z0-9-]*`)
	commands := 0
	for _, cmd := range allCommands(root) {
		if cmd.Hidden || strings.Contains(cmd.CommandPath(), "completion") {
			continue // cobra wrote the help of completion
		}
		commands++
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			var out strings.Builder
			root.SetOut(&out)
			cmd.InitDefaultHelpFlag()
			testcheck.Do(t, cmd.Help())
			help := out.String()
			exists := map[string]bool{}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				exists["--"+f.Name] = true
				listed := regexp.MustCompile(`(?m)^(      |  -[a-zA-Z], )--` + f.Name + `( |$)`)
				if n := len(listed.FindAllString(help, -1)); n != 1 && !f.Hidden {
					t.Errorf("--%s is listed %d times", f.Name, n)
				}
			})
			text := strings.Join(strings.Fields(strings.Replace(help, cmd.Example, "", 1)), " ")
			for _, name := range named.FindAllString(foreign.ReplaceAllString(text, ""), -1) {
				if !exists[name] && cmd != root {
					t.Errorf("the help names %s, which does not exist", name)
				}
			}
			checkExamples(t, cmd)
		})
	}
	if commands < 18 {
		t.Errorf("only %d commands", commands)
	}
}

// TestShortHelp checks for every command that no line of its helps is wider than a terminal, that the short
// help is the long one without the description and all but common flags, and that it says how to see the rest.
func TestShortHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	root := newRoot("", strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	for _, cmd := range allCommands(root) {
		if cmd.Hidden || strings.Contains(cmd.CommandPath(), "completion") {
			continue
		}
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			cmd.InitDefaultHelpFlag()
			var helps []string
			for _, args := range [][]string{nil, {"fit", "-h"}} {
				var out strings.Builder
				root.SetOut(&out)
				flags.Help(cmd, args)
				helps = append(helps, out.String())
				for line := range strings.Lines(out.String()) {
					if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
						t.Errorf("%d characters: %s", n, line)
					}
				}
			}
			common := strings.Fields(cmd.Annotations[flags.Common])
			if len(common) > 10 {
				t.Errorf("%d common options", len(common))
			}
			for _, name := range common {
				if f := cmd.Flags().Lookup(name); f == nil || f.Hidden || !strings.Contains(helps[1], "--"+name) {
					t.Errorf("the short help lacks --%s", name)
				}
			}
			if cmd.HasAvailableSubCommands() || cmd.Name() == "help" {
				return
			}
			all, short := strings.Count(helps[0], "\n"), strings.Count(helps[1], "\n")
			if short > 70 || short > all+2 || !strings.Contains(strings.Join(strings.Fields(helps[1]), " "), "'"+strings.Replace(cmd.CommandPath(), "gpfit", "gpfit help", 1)+"' describes the command") {
				t.Errorf("%d of %d lines:\n%s", short, all, helps[1])
			}
		})
	}
	for _, c := range []struct{ line, want string }{
		{"fit -h", " more flags"}, {"fit x.csv -h --json", "more flags"}, {"fit --help", "After Ctrl-C"}, {"help fit", "After Ctrl-C"}, {"fit -h --help", "After Ctrl-C"},
	} {
		var out strings.Builder
		if code := run(t.Context(), strings.Fields(c.line), strings.NewReader(""), &out, &out); code != 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("gpfit %s: exit code %d, no %q:\n%s", c.line, code, c.want, out.String())
		}
	}
}

// TestGroups checks that every command stands below one heading, and that the headings name commands.
func TestGroups(t *testing.T) {
	root := newRoot("", strings.NewReader(""), io.Discard, io.Discard)
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !root.ContainsGroup(c.GroupID) {
			t.Errorf("%s has the group %q", c.Name(), c.GroupID)
		}
	}
	for _, g := range groups {
		for _, name := range g.commands {
			if c, _, err := root.Find([]string{name}); err != nil || c.GroupID != g.heading {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// checkExamples parses the examples of a command with its flags.
func checkExamples(t *testing.T, cmd *cobra.Command) {
	for line := range strings.Lines(cmd.Example) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
		words := shellWords(line)
		path := strings.Fields(cmd.CommandPath())
		i := slices.Index(words, "gpfit")
		if i < 0 || len(words) < i+len(path) || !slices.Equal(words[i:i+len(path)], path) {
			continue // another command, which the example needs
		}
		if err := cmd.ParseFlags(words[i+len(path):]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestFlagsOfOthers checks that the names of options in other programs get hints at flags that the command has.
func TestFlagsOfOthers(t *testing.T) {
	flag := regexp.MustCompile(`--[a-z-]+`)
	failing := func(args ...string) string {
		_, _, stderr := runLine(t, args...)
		return stderr
	}
	known := commands(newRoot("", nil, nil, io.Discard))["fit"].Flags()
	for _, name := range strings.Fields("trend cv nugget verbose seasonality alpha n-restarts normalize covtype formula gpu cuda x y output model length-scale " +
		"lengthscale nu sigma theta n_restarts_optimizer normalize_y random-state n-jobs max-iter " +
		"messages lr noise-var lower upper nugget.estim estim.method trend.formula n-restarts num-restarts restart num_inducing training_iter scoring") {
		text := failing("fit", "data.csv", "--"+name, "1")
		_, hint, _ := strings.Cut(text, "unknown flag --"+name)
		hints := flag.FindAllString(hint, -1)
		for _, h := range hints {
			if known.Lookup(h[2:]) == nil {
				t.Errorf("%s: there is no %s", text, h)
			}
		}
		if len(hints) == 0 {
			t.Errorf("%s: no hint", text)
		}
	}
	for _, name := range []string{"max-iters", "maxiter", "iterations"} {
		if text := failing("fit", "data.csv", "--"+name, "1"); !strings.Contains(text, "(did you mean --max-evals?)") {
			t.Error(text)
		}
	}
	for _, method := range []string{"vecchia", "sparse", "svgp"} {
		if text := failing("fit", "data.csv", "--method", method); !strings.Contains(text, "--experts kmeans:20") {
			t.Error(text)
		}
	}
	if text := failing("predict", "m.gpfit", "d.csv", "--y", "1"); strings.Contains(text, "--target") {
		t.Error(text)
	}
}
