package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/filecheck"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/table"
)

func runCheck(c *cli.Command) error {
	wrong := 0
	for _, path := range c.Args {
		if isTable(path) {
			right, err := checkTable(c, path)
			if err != nil {
				return err
			}
			if !right {
				wrong++
			}
			continue
		}
		results, err := filecheck.Path(c.Ctx, path, func(text string) { c.Msg.Status("%s", text) })
		c.Msg.Clear()
		if err != nil {
			return err
		}
		if results[0].Fault != "" {
			wrong++
		}
		for _, r := range results {
			if err := printCheck(c, r); err != nil {
				return err
			}
		}
	}
	if wrong > 0 {
		return &problem.DataError{Msg: fmt.Sprintf("%d of %d checked are not right", wrong, len(c.Args))}
	}
	return nil
}

// printCheck prints a result as a line.
func printCheck(c *cli.Command, r filecheck.Statement) error {
	if c.Output.JSON {
		return json.NewEncoder(c.Out).Encode(r.Finished())
	}
	text := fmt.Sprintf("%s: ok: %s", r.File, r.Checked)
	if r.Fault != "" {
		text = fmt.Sprintf("%s: wrong: %s: %s", r.File, r.Fault, r.Cure)
	}
	_, err := fmt.Fprintln(c.Out, text)
	return err
}

// tableEndings are the ends of names of tables; a run and a model have others.
var tableEndings = []string{".csv", ".tsv", ".txt", ".dat", ".jsonl", ".ndjson", ".gz", ".bz2", ".zst", ".zip", ".parquet", ".arrow", ".arrows", ".feather", ".npy", ".npz"}

func isTable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && slices.ContainsFunc(tableEndings, func(end string) bool { return strings.HasSuffix(strings.ToLower(path), end) })
}

// checkTable prints all faults of a table and the fit that reads it, and reports whether a fit needs no options.
func checkTable(c *cli.Command, path string) (bool, error) {
	o := c.Data
	o.Formats = flags.Formats()
	faults, options, err := dataset.Survey(path, o)
	line := flags.Line([]string{"gpfit", "fit", path}, options)
	var all []string
	mend := false
	for _, f := range faults {
		mend = mend || f.Row
		all = append(all, messages.Flags(strings.TrimPrefix(f.Error(), path+": ")))
	}
	if err != nil {
		all, line = append(all, messages.Flags(strings.TrimPrefix(err.Error(), path+": "))), ""
	}
	if c.Output.JSON {
		return all == nil, json.NewEncoder(c.Out).Encode(tableCheck{"check", 1, path, "table", all == nil, all, line})
	}
	for _, text := range all {
		if _, err := fmt.Fprintf(c.Out, "%s: wrong: %s\n", path, text); err != nil {
			return false, err
		}
	}
	text := "a fit reads it: " + line
	switch {
	case line == "" && strings.Contains(err.Error(), "option encoding"):
		text = "name its encoding: gpfit check " + path + " --encoding NAME"
	case line == "":
		text = "no options read it: change the table"
	case all == nil:
		text = "ok: " + text
	case mend:
		text = "change the lines that no option reads; then " + text
	}
	_, err = fmt.Fprintf(c.Out, "%s: %s\n", path, text)
	return all == nil, err
}

// tableCheck says what is wrong with a table, and which fit reads it.
type tableCheck struct {
	Type          string   `json:"type"`
	SchemaVersion int      `json:"schema_version"`
	File          string   `json:"file"`
	Kind          string   `json:"kind"`
	OK            bool     `json:"ok"`
	Faults        []string `json:"faults,omitempty"`
	Command       string   `json:"command,omitempty"`
}

// withCommand adds to an error in a table the command that reads it, if options can.
func withCommand(c *cli.Command, path string, err error) error {
	e, ok := errors.AsType[*table.Error](err)
	if !ok || e.TooLarge || e.Err != nil || !isTable(path) || c.Data.Mask != "" {
		return err
	}
	o := c.Data
	o.Formats = flags.Formats()
	faults, options, other := dataset.Survey(path, o)
	if other == nil && !slices.ContainsFunc(faults, func(f table.Fault) bool { return f.Row }) {
		e.Msg += "; for all columns: " + c.CommandLine([]string{"gpfit", "fit", path}, nil, options)
	}
	return err
}
