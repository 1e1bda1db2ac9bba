package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the release. CHANGELOG.md lists its changes.
const version = "0.1.0"

// programName names this release in the files of a run.
const programName = "gpfit " + version

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
					"type": "version", "schema_version": 1, "version": version, "revision": buildRevision(),
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			return printVersion(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of text")
	return cmd
}

// printVersion prints the version in one line.
func printVersion(w io.Writer) error {
	_, err := fmt.Fprintf(w, "gpfit %s (%s, %s, %s/%s)\n", version, buildRevision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildRevision returns the commit that the binary was built from, if known.
func buildRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown revision"
	}
	revision, modified := "unknown revision", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	return revision + modified
}
