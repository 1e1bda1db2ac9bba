// Package flags makes the flags of commands: those of the table of options, which
// [Options] declares, and those of one command alone. It reads them from the command
// line and from variables, completes them for the shell, and shows them in help.
package flags

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit/option"
	"gpfit/internal/suggest"
)

// InOrder returns the flags of a command, whose help shows them in the order in
// which they are declared.
func InOrder(cmd *cobra.Command) *pflag.FlagSet {
	cmd.Flags().SortFlags = false
	return cmd.Flags()
}

// choice is the value of a flag that takes one of a few words. The empty text
// stands for the first one.
type choice struct {
	value *string
	words []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "string" }

func (c *choice) Set(text string) error {
	*c.value = cmp.Or(text, c.words[0])
	return nil
}

// Choice declares a flag that takes one of the words, of which the first is the
// default.
func Choice(s *pflag.FlagSet, p *string, name, usage string, words ...string) {
	*p = words[0]
	s.Var(&choice{p, words}, name, usage)
}

// Annotations of flags.
const (
	noVariable = "gpfit_no_variable"
	completion = "gpfit_completion"
	group      = "gpfit_group"
)

// InGroup puts flags below a heading of the help.
func InGroup(s *pflag.FlagSet, heading string, names ...string) {
	for _, name := range names {
		_ = s.SetAnnotation(name, group, []string{heading}) // fails for an unknown flag only
	}
}

// Completions offers words for a flag in the shell, beside which it takes others.
func Completions(s *pflag.FlagSet, name string, words ...string) {
	_ = s.SetAnnotation(name, completion, words) // fails for an unknown flag only
}

// CommandLineOnly marks flags without a variable: those that share a name with a
// flag of fit and mean something else, so that what is set for fits would change
// or break other commands.
func CommandLineOnly(s *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = s.SetAnnotation(name, noVariable, nil) // fails for an unknown flag only
	}
}

// Finish finishes a command: the shell completes its flags, and it takes as many
// arguments as its usage names.
func Finish(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = exactArgs
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if table, ok := f.Value.(*tableFlag); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, table.complete) // fails for an unknown flag only
			return
		}
		words := f.Annotations[completion]
		if c, ok := f.Value.(*choice); ok {
			words = c.words
		}
		if words != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// Read gives flags that are not on the command line the value of their variable,
// GPFIT_NAME, checks those that take one of a few words, and fills in [Options].
func Read(flags *pflag.FlagSet) error {
	var first error
	var options *Options
	flags.VisitAll(func(f *pflag.Flag) {
		err := cmp.Or(fromEnvironment(flags, f), checkChoice(f))
		first = cmp.Or(first, err)
		if table, ok := f.Value.(*tableFlag); ok {
			options = table.all
		}
	})
	if first != nil || options == nil {
		return first
	}
	return options.read(flags)
}

func fromEnvironment(flags *pflag.FlagSet, f *pflag.Flag) error {
	variable := option.Variable(f.Name)
	value, ok := os.LookupEnv(variable)
	if _, without := f.Annotations[noVariable]; !ok || without || f.Changed || f.Name == "help" {
		return nil
	}
	if table, ok := f.Value.(*tableFlag); ok {
		table.variable = variable
	}
	if err := flags.Set(f.Name, value); err != nil {
		return exit.Usagef("environment variable %s=%q: %v", variable, value, err)
	}
	return nil
}

func checkChoice(f *pflag.Flag) error {
	c, ok := f.Value.(*choice)
	word := f.Value.String()
	if !ok || slices.Contains(c.words, word) {
		return nil
	}
	return exit.Usagef("--%s %q: must be %s", f.Name, word, option.OrList(c.words))
}

// Error makes a usage error of what pflag says, with a suggestion for an unknown
// flag.
func Error(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return exit.Usagef("unknown flag --%s%s", unknown.GetSpecifiedName(), suggest.DidYouMean(unknown.GetSpecifiedName(), names))
	}
	return &exit.UsageError{Err: err}
}

func exactArgs(cmd *cobra.Command, args []string) error {
	if want := strings.Fields(cmd.Use)[1:]; len(args) != len(want) {
		return WrongArgs(len(args), want)
	}
	return nil
}

// WrongArgs is the usage error for n arguments in place of those wanted.
func WrongArgs(n int, want []string) error {
	text := strings.Join(want, " ")
	if len(want) == 0 {
		text = "none"
	}
	return exit.Usagef("%d arguments, expected %s", n, text)
}
