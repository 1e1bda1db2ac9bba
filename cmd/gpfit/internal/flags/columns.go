package flags

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/table"
)

// columnNames are those of the table that a command reads: of the argument DATA, or
// of the flag --data. None if there is no such table yet.
func columnNames(cmd *cobra.Command, args []string) []string {
	path := ""
	if f := cmd.Flags().Lookup("data"); f != nil {
		path = f.Value.String()
	} else if i := slices.IndexFunc(strings.Fields(cmd.Use)[1:], isData); i >= 0 && len(args) > 0 {
		path = args[min(i, len(args)-1)]
	}
	if info, err := os.Stat(path); path == "" || path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // what is read once cannot be read for the shell
	}
	// NoTarget needs no second column. Only the beginning of the file is read.
	in, err := table.Open(path, table.Options{NoTarget: true})
	if err != nil {
		return nil
	}
	defer in.Close()
	return in.Names()
}

func isData(argument string) bool { return strings.Trim(argument, "[]") == "DATA" }
