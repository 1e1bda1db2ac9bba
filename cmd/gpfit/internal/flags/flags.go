// Package flags declares the flags of commands. [Options] declares flags from the table
// of options; other functions declare flags that only one command has. The package reads
// flags from the command line and from environment variables, completes them in the
// shell, and shows them in help.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/option"
	"gpfit/internal/suggest"
)

// InOrder returns the flag set of a command. Help shows its flags in the order of
// their declarations.
func InOrder(cmd *cobra.Command) *pflag.FlagSet {
	cmd.Flags().SortFlags = false
	return cmd.Flags()
}

// choice is the value of a flag that takes one of a few words. An empty text means the
// first word.
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

// Choice declares a flag that takes one of words. The first word is the default.
func Choice(s *pflag.FlagSet, p *string, name, usage string, words ...string) {
	*p = words[0]
	s.Var(&choice{p, words}, name, usage)
}

// The keys of flag annotations.
const (
	noVariable = "gpfit_no_variable"
	completion = "gpfit_completion"
	group      = "gpfit_group"
)

// InGroup lists flags under a heading of the help.
func InGroup(s *pflag.FlagSet, heading string, names ...string) {
	for _, name := range names {
		_ = s.SetAnnotation(name, group, []string{heading}) // fails for an unknown flag only
	}
}

// Completions makes the shell offer words for a flag, which takes others, too.
func Completions(s *pflag.FlagSet, name string, words ...string) {
	_ = s.SetAnnotation(name, completion, words) // fails for an unknown flag only
}

// CommandLineOnly marks flags that have no environment variable. They share a name
// with a flag of fit but mean something else, so a variable that is set for fits would
// change or break other commands.
func CommandLineOnly(s *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = s.SetAnnotation(name, noVariable, nil) // fails for an unknown flag only
	}
}

// Finish completes the declaration of a command: the shell completes its flags, and the
// command takes as many arguments as its usage names.
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

// Read sets flags that are not on the command line from their environment variables,
// GPFIT_NAME. It checks flags that take one of a few words and fills in [Options].
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
	if !ok || !hasVariable(f) || f.Changed {
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

// hasVariable reports whether an environment variable sets the flag, too.
func hasVariable(f *pflag.Flag) bool {
	_, without := f.Annotations[noVariable]
	return !without && f.Name != "help"
}

func checkChoice(f *pflag.Flag) error {
	c, ok := f.Value.(*choice)
	word := f.Value.String()
	if !ok || slices.Contains(c.words, word) {
		return nil
	}
	return exit.Usagef("--%s %q: must be %s", f.Name, word, option.OrList(c.words))
}

// Error turns an error of pflag into a usage error. For an unknown flag it suggests a
// similar one.
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

// WrongArgs returns the usage error for n arguments where the command expects want.
func WrongArgs(n int, want []string) error {
	text := strings.Join(want, " ")
	if len(want) == 0 {
		text = "none"
	}
	found := fmt.Sprintf("%d arguments", n)
	if n == 1 {
		found = "1 argument"
	}
	return exit.Usagef("%s, expected %s", found, text)
}
