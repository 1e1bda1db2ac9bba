package main

import (
	"slices"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// noCommand handles "gpfit", which prints the help, and "gpfit typo", an error.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return exit.Usagef("unknown command %s%s", textform.Quote(args[0]), suggest.DidYouMean(args[0], commandNames(cmd)))
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the usage of a command",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			for len(args) > 0 && about.HasSubCommands() {
				i := slices.IndexFunc(about.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] })
				if i < 0 {
					return noCommand(about, args)
				}
				about, args = about.Commands()[i], args[1:]
			}
			if len(args) > 0 {
				return exit.Usagef("%s has no command %s", about.CommandPath(), textform.Quote(args[0]))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(about), cobra.ShellCompDirectiveNoFileComp
		},
	}
}
