package main

import (
	"embed"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/device"
	"gpfit/fit/tuning"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

//go:embed help
var helpFiles embed.FS

// define returns the definition of a command, such as "kernel check", with its texts, a template which gets the list of exit codes: the
// usage, the command in one line, perhaps the options that the short help shows, and, after blank lines, a description and examples.
func define(name string) *cobra.Command {
	var b strings.Builder
	text := template.Must(template.ParseFS(helpFiles, "help/"+strings.ReplaceAll(name, " ", "-")+".txt", "help/formulas.txt"))
	if err := text.Execute(&b, exit.Summary()); err != nil {
		panic(err) // every command has a text
	}
	about, examples, _ := strings.Cut(strings.TrimSuffix(b.String(), "\n"), "\n\nExamples:\n")
	head, description, _ := strings.Cut(about, "\n\n")
	head, common, _ := strings.Cut(head, "\nCommon options: ")
	usage, line, _ := strings.Cut(head, "\n")
	return &cobra.Command{Use: usage, Short: line, Long: description, Example: examples, GroupID: groupOf(name), Annotations: map[string]string{flags.Common: common}}
}

// groups are the headings of the help with their commands; a command without one is below the last.
var groups = []struct {
	heading  string
	commands []string
}{
	{"Fit", []string{"fit", "update"}},
	{"Predict", []string{"predict", "sample", "loo", "weights"}},
	{"Compare", []string{"select", "compare", "path"}},
	{"Batch", []string{"batch", "resume", "show"}},
	{"Look", []string{"report", "inspect", "profile", "nlml", "kernel"}},
	{"Other", nil},
}

// groupOf returns the heading of a command, "" for the program and commands of commands.
func groupOf(name string) string {
	if name == "gpfit" || strings.Contains(name, " ") {
		return ""
	}
	for _, g := range groups {
		if slices.Contains(g.commands, name) {
			return g.heading
		}
	}
	return groups[len(groups)-1].heading
}

//go:embed views
var viewFiles embed.FS

// views are the texts of results as templates.
var views = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"bytes": device.FormatBytes, "part": func(p tuning.Part) string { return shortly(p.Time()) }, "join": strings.Join, "minus": func(v float64) float64 { return -v },
		"number": func(v *float64) float64 { return *v }, "optional": textform.Optional[float64],
	}).ParseFS(viewFiles, "views/*.txt"))
})

// view returns a result as text for people.
func view(name string, result any) string {
	var b strings.Builder
	if err := views().ExecuteTemplate(&b, name+".txt", result); err != nil {
		panic(err) // the tests show every view
	}
	return b.String()
}

// noCommand handles "gpfit", which prints the help, and "gpfit typo", an error.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return exit.Usagef("unknown command %s%s", textform.Quote(args[0]), otherCommands.Hint(args[0], commandNames(cmd)))
}

// otherCommands are names of commands in other programs.
var otherCommands = suggest.Others{
	"fit": "train training learn estimate regress regression km gp run tune optimize", "inspect": "summary info describe print",
	"-'gpfit report' makes a page with figures; fit, predict and others have --plot": "plot figure draw chart", "-'gpfit fit --scores cv' cross-validates; 'gpfit select' compares kernels so": "cv crossval crossvalidate validate kfold", "-'gpfit predict --score' compares predictions with a table; 'gpfit loo' leaves rows out": "score evaluate test metrics",
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
		GroupID: groupOf("help"),
		Use:     "help [COMMAND]",
		Short:   "Show the usage of a command",
		Args:    cobra.ArbitraryArgs,
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
