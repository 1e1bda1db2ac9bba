package main

import (
	"encoding/json"
	"fmt"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/filecheck"
	"gpfit/fit/problem"
)

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
		return json.NewEncoder(c.Out).Encode(r.Finished())
	}
	text := fmt.Sprintf("%s: ok: %s", r.File, r.Checked)
	if r.Fault != "" {
		text = fmt.Sprintf("%s: wrong: %s: %s", r.File, r.Fault, r.Cure)
	}
	_, err := fmt.Fprintln(c.Out, text)
	return err
}
