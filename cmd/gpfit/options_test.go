package main

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/internal/option"
	"gpfit/internal/spec"
)

// commands returns all commands by their names, such as "kernel check".
func commands(root *cobra.Command) map[string]*cobra.Command {
	out := map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		out[strings.TrimPrefix(c.CommandPath(), "gpfit ")] = c
		for _, sub := range c.Commands() {
			out[strings.TrimPrefix(sub.CommandPath(), "gpfit ")] = sub
		}
	}
	return out
}

// TestOptions checks that every entry of the table is a flag of the commands that it
// names, with its variable, under its heading in the help; a key of a spec, if it has
// that place; and a row of the reference page.
func TestOptions(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	page, err := os.ReadFile("../../docs/options.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := spec.Fields(reflect.TypeFor[spec.Options]())
	helps := map[string]string{}
	root := newRoot(nil, nil, io.Discard)
	all := commands(root)
	all[option.Program] = root
	for name, cmd := range all {
		var help bytes.Buffer
		cmd.Root().SetOut(&help)
		flags.Help(cmd, nil)
		helps[name] = help.String()
	}
	for _, o := range option.All() {
		if !strings.Contains(string(page), "| `"+o.Name+"` |") {
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
	root := newRoot(nil, nil, nil)
	all := commands(root)
	all[option.Program] = root
	for place, cmd := range all {
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
				t.Errorf("gpfit %s --%s is not in the table of internal/option", place, f.Name)
			}
		})
	}
}
