package flags

import (
	"encoding/csv"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/option"
)

// Options are the flags of one command that come from the table of options.
type Options struct {
	// Values are the options as the library takes them, defaults included. Read fills
	// them in.
	option.Values
	// Given holds the values that the command line or a variable gives, by name.
	Given map[string]any
	table option.Options
	flags map[string]*tableFlag
}

// Add declares the options of the table for a place, such as the command "fit".
func (o *Options) Add(s *pflag.FlagSet, place string) {
	o.addTable(s, option.All().For(place))
}

func (o *Options) addTable(s *pflag.FlagSet, table option.Options) {
	o.table, o.flags = table, map[string]*tableFlag{}
	for i := range o.table {
		opt := &o.table[i]
		v := &tableFlag{option: opt, all: o}
		o.flags[opt.Name] = v
		f := s.VarPF(v, opt.Name, "", opt.Help)
		if opt.Kind.Flag {
			f.NoOptDefVal = "true"
		}
		if opt.NoVariable {
			CommandLineOnly(s, opt.Name)
		}
		InGroup(s, string(opt.Group), opt.Name)
	}
}

// AddOverrides is Add for options that override others. Help lists them under heading,
// and only options that are given count.
func (o *Options) AddOverrides(s *pflag.FlagSet, place, heading string) {
	o.Add(s, place)
	for _, opt := range o.table {
		f := s.Lookup(opt.Name)
		f.Value.(*tableFlag).override = true
		InGroup(s, heading, opt.Name)
	}
}

// read fills in Values and Given.
func (o *Options) read(s *pflag.FlagSet) error {
	o.Given = map[string]any{}
	all := o.table.Defaults()
	for i := range o.table {
		f := s.Lookup(o.table[i].Name).Value.(*tableFlag)
		if len(f.texts) == 0 {
			continue
		}
		var value any
		for _, text := range f.texts {
			var err error
			if value, err = f.option.Read(value, text); err != nil {
				return f.explain(text, err)
			}
		}
		if value != nil {
			o.Given[f.option.Name], all[f.option.Name] = value, value
		}
	}
	o.table.Assign(&o.Values, all)
	return nil
}

// Changed reports whether the command line or a variable gives one of the options.
func (o *Options) Changed(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := o.Given[name]; return ok })
}

// Texts returns the options that the command line or a variable gives, as texts by name,
// without some.
func (o *Options) Texts(without ...string) map[string]string {
	out := map[string]string{}
	for name, f := range o.flags {
		if _, given := o.Given[name]; given && !slices.Contains(without, name) {
			out[name] = strings.Join(f.texts, ", ")
		}
	}
	return out
}

// tableFlag is the flag of an option. It collects texts; Options reads them once all
// are known.
type tableFlag struct {
	option *option.Option
	all    *Options
	texts  []string
	// override means that the default does not count.
	override bool
	// variable is the environment variable that the text comes from, "" for the
	// command line.
	variable string
}

func (f *tableFlag) Type() string     { return f.option.Kind.Name }
func (f *tableFlag) IsBoolFlag() bool { return f.option.Kind.Flag }

func (f *tableFlag) String() string {
	if f == nil || f.option == nil { // pflag calls String on a zero value
		return ""
	}
	if len(f.texts) == 0 {
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

// explain adds the name of the variable to an error in a variable's text.
func (f *tableFlag) explain(text string, err error) error {
	if f.variable == "" {
		return err
	}
	return exit.Usagef("environment variable %s=%q: %w", f.variable, text, err)
}

// complete returns the shell's completions of the flag: its words, or the names of the
// columns or of the parameters of the table that the command reads.
func (f *tableFlag) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	o, words := f.option, f.option.Examples
	if namesParameters(o) {
		return f.completeParameter(cmd, args, begun)
	}
	switch {
	case o.Kind.Columns:
		words = columnNames(cmd, args)
	case o.Words != nil && !o.Kind.Repeats:
		words = o.Words
	case o.Kind.Flag:
		words = []string{"true", "false"}
	case words == nil:
		return nil, cobra.ShellCompDirectiveDefault
	}
	if !o.Kind.Columns {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	// Commas separate several columns.
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = before + quoted(w)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// quoted returns name as an item of a comma-separated list.
func quoted(name string) string {
	if !strings.ContainsAny(name, ",\"\n") {
		return name
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{name}) // a strings.Builder takes everything
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
