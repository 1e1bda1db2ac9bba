package main

import (
	"encoding/json"
	"fmt"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/filecheck"
	"gpfit/fit/problem"
)

// checkView is the result of a check of one file as JSON.
type checkView struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	File          string `json:"file"`
	Kind          string `json:"kind"`
	Job           string `json:"job,omitempty"`
	OK            bool   `json:"ok"`
	Checked       string `json:"checked,omitempty"`
	Fault         string `json:"fault,omitempty"`
	Cure          string `json:"cure,omitempty"`
}

func runCheck(c *cli.Command) error {
	wrong := 0
	for _, path := range c.Args {
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
		return json.NewEncoder(c.Out).Encode(checkView{"check", 1, r.File, r.Kind, r.Job, r.Fault == "", r.Checked, r.Fault, r.Cure})
	}
	text := fmt.Sprintf("%s: ok: %s", r.File, r.Checked)
	if r.Fault != "" {
		text = fmt.Sprintf("%s: wrong: %s: %s", r.File, r.Fault, r.Cure)
	}
	_, err := fmt.Fprintln(c.Out, text)
	return err
}
