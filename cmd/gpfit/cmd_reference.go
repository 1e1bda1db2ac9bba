package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/reference"
	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
)

//go:generate go run -C ../../tools ./options ..
//go:generate go run . reference markdown ../../docs/reference

// newReference returns the command that writes the reference of the others. It is
// hidden, because only makers of gpfit or its packages need it.
func newReference() *cobra.Command {
	cmd := define("reference")
	cmd.Hidden, cmd.Args = true, flags.CheckArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return writeReference(cmd.Context(), cmd.Root(), args[0], args[1])
	}
	return cmd
}

func writeReference(ctx context.Context, root *cobra.Command, format, dir string) error {
	var files map[string][]byte
	switch format {
	case "markdown":
		files = reference.Markdown(root)
	case "man":
		date, err := referenceDate()
		if err != nil {
			return err
		}
		files = reference.Man(root, reference.Release{Version: thisBuild().Version, Date: date})
	default:
		return exit.Usagef("format %s: must be markdown or man", textform.Quote(format))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &output.WriteError{Err: err}
	}
	for name, text := range files {
		write := func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(text)); return err }
		if err := atomicfile.Writer(true)(ctx, filepath.Join(dir, name), write); err != nil {
			return &output.WriteError{Err: err}
		}
	}
	return nil
}

// referenceDate returns the date of SOURCE_DATE_EPOCH, by which builds are repeatable, or
// of the commit that the program was built from, or the day 0 of Unix.
func referenceDate() (time.Time, error) {
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, exit.Usagef("environment variable SOURCE_DATE_EPOCH=%q: must be a number of seconds", text)
		}
		return time.Unix(seconds, 0), nil
	}
	if at := thisBuild().Time; at != nil {
		return *at, nil
	}
	return time.Unix(0, 0), nil
}
