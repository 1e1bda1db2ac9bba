package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/internal/must"
)

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
	root := newRoot(strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
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
			must.Do(t, cmd.Help())
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
