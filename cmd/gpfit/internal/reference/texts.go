package reference

import (
	"strings"

	"github.com/spf13/cobra"
)

// optionVariables says which variables the options have.
const optionVariables = "Options have environment variables: GPFIT_MAX_EVALS sets --max-evals. An option on the command line overrides its variable. The page of a command names the options without a variable."

// ownVariables says which variables the options of a page have.
func (p *page) ownVariables() string {
	example := ""
	for _, g := range p.options {
		for _, f := range g.Flags {
			if example == "" && f.Variable != "" {
				example = f.Variable + " sets --" + f.Name
			}
		}
	}
	text := "Options have environment variables: " + example + ". An option on the command line overrides its variable."
	if without := p.withoutVariable(); without != nil {
		text += " These options have none: " + strings.Join(without, ", ") + "."
	}
	return text
}

// synopsis returns the usage of a command.
func synopsis(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	text := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if cmd.HasAvailableFlags() {
		text += " [OPTION]..."
	}
	return text
}
