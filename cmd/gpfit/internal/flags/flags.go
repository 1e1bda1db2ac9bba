// Package flags makes flags from the table of options: with their variables, help and
// completion. Start at [Set.Add].
package flags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
	"gpfit/internal/workers"
	"gpfit/option"
	"gpfit/table"
	"gpfit/table/formats"
)

// Set holds the options of a place of the table, as flags of a command.
type Set struct {
	// Values are the options as the library takes them, defaults included. Read fills them in.
	option.Values
	// Given holds the values that the command line or a variable gives, by name.
	Given map[string]any
	place string
	table option.Entries
	flags map[string]*tableFlag
}

// Add declares the options of the table for a place, such as the command "fit".
func (o *Set) Add(cmd *cobra.Command, place string) {
	o.addTable(cmd, place, option.Taken(place))
}

func (o *Set) addTable(cmd *cobra.Command, place string, table option.Entries) {
	s := cmd.Flags()
	s.SortFlags = false
	o.place, o.table, o.flags = place, table, map[string]*tableFlag{}
	for i := range o.table {
		opt := &o.table[i]
		v := &tableFlag{option: opt, all: o}
		o.flags[opt.Name] = v
		f := s.VarPF(v, opt.Name, opt.Short, opt.Help)
		if opt.Kind.Flag {
			f.NoOptDefVal = "true"
		}
		if opt.Former != "" {
			s.VarPF(v, opt.Former, "", "").Hidden = true
		}
	}
}

// Read reads the flags of a command, and the variables of flags that are not on the
// command line. It warns of flags with former names. The error has all mistakes, one per line.
func Read(cmd *cobra.Command) error {
	var all []*Set
	var mistakes []error
	var own option.Entries
	msg := messages.New(cmd.ErrOrStderr(), false)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		v, ok := f.Value.(*tableFlag)
		if !ok {
			return
		}
		switch {
		case f.Hidden && f.Changed:
			msg.Warn(fmt.Sprintf("--%s is a former name of --%s", f.Name, v.option.Name))
		case !f.Hidden:
			own = append(own, *v.option)
			mistakes = append(mistakes, v.fromEnvironment(cmd.Flags(), msg))
		}
		if !slices.Contains(all, v.all) {
			all = append(all, v.all)
		}
	})
	mistakes = append(mistakes, checkVariables(os.Environ(), own))
	for _, o := range all {
		mistakes = append(mistakes, o.read())
	}
	for _, o := range all {
		if errors.Join(mistakes...) != nil { // rules are about values
			break
		}
		if err := o.table.Check(o.place, o.values(), o.Given); err != nil {
			mistakes = append(mistakes, &exit.UsageError{Err: err})
		}
	}
	return errors.Join(mistakes...)
}

// read fills in Values and Given. The error has the first mistake of each flag.
func (o *Set) read() error {
	o.Given = map[string]any{}
	var mistakes []error
	for i := range o.table {
		opt := &o.table[i]
		f := o.flags[opt.Name]
		var value any
		for _, text := range f.texts {
			var err error
			if value, err = opt.Read(value, text); err != nil {
				mistakes, value = append(mistakes, f.explain(text, err)), nil
				break
			}
		}
		if value != nil {
			o.Given[opt.Name] = value
		}
	}
	if err := errors.Join(mistakes...); err != nil {
		return err
	}
	o.table.Assign(&o.Values, o.values())
	return nil
}

// values returns the values that are given, and the defaults of the others.
func (o *Set) values() map[string]any {
	all := o.table.Defaults()
	maps.Copy(all, o.Given)
	return all
}

// Changed reports whether the command line or a variable gives one of the options.
func (o *Set) Changed(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := o.Given[name]; return ok })
}

// Has reports whether an option is given with another value than false, 0 or an empty one.
func (o *Set) Has(name string) bool { return option.Holds(name, nil, o.Given) }

// Texts returns the options that the command line or a variable gives, as texts by name,
// without some.
func (o *Set) Texts(without ...string) map[string]string {
	out := map[string]string{}
	for name, f := range o.flags {
		if o.Changed(name) && !slices.Contains(without, name) {
			out[name] = strings.Join(f.texts, ", ")
		}
	}
	return out
}

// CommandLine returns a command with its arguments and the options that are given and that it takes, without some and with
// more, as one writes it in a shell.
func (o *Set) CommandLine(command []string, without []string, more map[string]string) string {
	line, table := command, option.All()
	add := func(name, text string) {
		switch taken := table.Find(name, command[1]); {
		case taken == nil:
		case taken.Kind.Flag && text == "true":
			line = append(line, "--"+name)
		default:
			line = append(line, "--"+name, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.flags)) {
		if _, changes := more[name]; !changes && !slices.Contains(without, name) {
			for _, text := range o.flags[name].texts {
				add(name, text)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		add(name, more[name])
	}
	return shellLine(line)
}

// Line returns a command with its arguments and options, as one writes it in a shell.
func Line(command []string, options map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if command = append(command, "--"+name); options[name] != "true" {
			command = append(command, options[name])
		}
	}
	return shellLine(command)
}

// shellLine quotes words where a shell needs it and joins them.
func shellLine(line []string) string {
	for i, word := range line {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%") != "" {
			line[i] = textform.ShellQuote(word)
		}
	}
	return strings.Join(line, " ")
}

// tableFlag is the flag of an option. It collects texts; Set reads them once all are known.
type tableFlag struct {
	option *option.Option
	all    *Set
	texts  []string
	// variable is the environment variable that the text comes from, "" for the command line.
	variable string
}

// Type implements [pflag.Value].
func (f *tableFlag) Type() string { return f.option.Kind.Name }

// IsBoolFlag says that the flag needs no value.
func (f *tableFlag) IsBoolFlag() bool { return f.option.Kind.Flag }

// String implements [pflag.Value].
func (f *tableFlag) String() string {
	switch {
	case f == nil || f.option == nil: // pflag calls String on a zero value
		return ""
	case len(f.texts) == 0:
		return f.option.Default
	}
	return strings.Join(f.texts, ",")
}

// Set implements [pflag.Value].
func (f *tableFlag) Set(text string) error {
	if !f.option.Kind.Repeats {
		f.texts = nil
	}
	f.texts = append(f.texts, text)
	return nil
}

// fromEnvironment sets the flag to the value of its variable, unless it is given.
func (f *tableFlag) fromEnvironment(s *pflag.FlagSet, msg *messages.Writer) error {
	variable := f.option.Variable()
	if variable == "" || len(f.texts) > 0 {
		return nil
	}
	value, ok := os.LookupEnv(variable)
	if !ok && f.option.Former != "" {
		former := option.Variable(f.option.Former)
		if value, ok = os.LookupEnv(former); ok {
			msg.Warn(fmt.Sprintf("%s is a former name of %s", former, variable))
			variable = former
		}
	}
	if !ok {
		return nil
	}
	f.variable = variable
	return s.Set(f.option.Name, value)
}

// explain adds the name of the variable to an error in a variable's text.
func (f *tableFlag) explain(text string, err error) error {
	if f.variable == "" {
		return err
	}
	return exit.Usagef("environment variable %s=%q: %w", f.variable, text, err)
}

// Error adds the nearest flag to the error for an unknown one.
func Error(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		asked, dashes := unknown.GetSpecifiedName(), "--"
		if group := unknown.GetSpecifiedShortnames(); group != "" { // a name after one hyphen is a group of letters
			asked, _, _ = strings.Cut(group, "=")
			dashes = "-"
		}
		hint := otherFlags.Hint(asked, nil)
		if slices.ContainsFunc(flagWord.FindAllStringSubmatch(hint, -1), func(flag []string) bool { return !slices.Contains(names, flag[1]) }) {
			hint = "" // an option of another command
		}
		if near, ok := suggest.Closest(asked, names); ok && hint == "" {
			hint = " (did you mean --" + near + "?)"
		}
		return exit.Usagef("unknown flag %s%s%s", dashes, asked, hint)
	}
	return &exit.UsageError{Err: err}
}

// CheckArgs checks that a command has the arguments that its usage names, with or
// without the arguments in brackets.
func CheckArgs(cmd *cobra.Command, args []string) error {
	want := strings.Fields(cmd.Use)[1:]
	least := len(want) - strings.Count(cmd.Use, "[")
	several := strings.HasSuffix(cmd.Use, "...")
	if len(args) < least || len(args) > len(want) && !several {
		return WrongArgs(len(args), want)
	}
	return nil
}

// WrongArgs returns the error for n arguments in place of the wanted ones.
func WrongArgs(n int, want []string) error {
	return exit.Usagef("%s, expected %s", textform.Counted(n, "argument"), cmp.Or(strings.Join(want, " "), "none"))
}

// Formats returns the table formats that the command reads besides text and NumPy's.
func Formats() []table.Format { return []table.Format{formats.Parquet(), formats.Arrow()} }

// ReadTable reads a table with all formats. If ctx is done first, it returns ctx's error.
func ReadTable(ctx context.Context, path string, stdin io.Reader, o dataset.Options) (problem.Data, error) {
	o.Formats = Formats()
	return Await(ctx, path, func() (problem.Data, error) { return dataset.Read(path, stdin, o) })
}

// Await calls read, which reads the input called name, in a goroutine. If ctx is done first,
// because a pipe or a terminal gives nothing, it returns ctx's error.
func Await[T any](ctx context.Context, name string, read func() (T, error)) (T, error) {
	v, err := workers.Await(ctx, read)
	if err != nil && err == ctx.Err() {
		if name == "-" {
			name = "standard input"
		}
		err = fmt.Errorf("interrupted while reading %s: %w", name, err)
	}
	return v, err
}
