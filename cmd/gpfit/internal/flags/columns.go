package flags

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/table"
)

// columnNames returns the column names of the table that a command reads: the argument
// DATA, or the value of --data. It returns nil if that is not a table yet.
func columnNames(cmd *cobra.Command, args []string) []string {
	path := ""
	if f := cmd.Flags().Lookup("data"); f != nil {
		path = f.Value.String()
	} else if i := slices.IndexFunc(strings.Fields(cmd.Use)[1:], isData); i >= 0 && len(args) > 0 {
		path = args[min(i, len(args)-1)]
	}
	if info, err := os.Stat(path); path == "" || path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // completion must not consume an input that can be read only once
	}
	// NoTarget needs no second column. Only the beginning of the file is read.
	in, err := table.Open(path, table.Options{NoTarget: true, Formats: Formats()})
	if err != nil {
		return nil
	}
	defer in.Close()
	return in.Names()
}

func isData(argument string) bool { return strings.Trim(argument, "[]") == "DATA" }
