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
	path := dataPath(cmd, args)
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

// dataPath returns the argument DATA or the value of --data, "" if there is none yet.
func dataPath(cmd *cobra.Command, args []string) string {
	if f := cmd.Flags().Lookup("data"); f != nil {
		return f.Value.String()
	}
	if i := slices.IndexFunc(strings.Fields(cmd.Use)[1:], isData); i >= 0 && len(args) > 0 {
		return args[min(i, len(args)-1)]
	}
	return ""
}

func isData(argument string) bool { return strings.Trim(argument, "[]") == "DATA" }
