package main

import (
	"fmt"
	"io"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit/columns"
	"gpfit/gp"
	"gpfit/gp/exchange"
)

func runLOO(c *cli.Command) error {
	file, err := c.File(output.Tables()...)
	if err != nil {
		return err
	}
	model, err := c.LoadModel(c.Args[0])
	if err != nil {
		return err
	}
	posterior, done, err := c.Condition(model)
	if err != nil {
		return err
	}
	defer done()
	l, err := posterior.LeaveOneOut(c.Ctx)
	c.Msg.Clear()
	if err != nil {
		return err
	}
	s := l.Summary()
	info := map[string]any{"type": "loo", "n": s.N, "summary": s}
	if err := c.WriteFile(file, file.Table(info, columns.LeaveOneOut(model, l))); err != nil {
		return err
	}
	if err := file.Summary(c.Out, c.Output.JSON, info); err != nil {
		return err
	}
	c.Msg.Note("leave-one-out over %d rows: RMSE %.6g, NLPD %.6g, Q2 %.6g", s.N, s.RMSE, s.NLPD, s.Q2)
	c.Msg.Note("in the 50, 90, 95 %% interval: %.1f, %.1f, %.1f %%; standardized residuals: mean %.3f, root mean square %.3f",
		100*s.Coverage50, 100*s.Coverage90, 100*s.Coverage95, s.MeanStandardized, s.RMSStandardized)
	return nil
}

func runWeights(c *cli.Command) error {
	path := c.Args[0]
	file, err := c.File(output.CSV, output.JSON)
	if err != nil {
		return err
	}
	model, err := c.LoadModel(path)
	if err != nil {
		return err
	}
	weights, err := gp.HasWeights(model)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case !weights:
		return exit.Usagef("%s: the kernel %s has no term with finitely many features that have names, such as linear or poly, and so no weights", path, model.KernelText())
	case model.State.Method != "":
		return exit.Usagef("%s: the model has local experts, each with weights of its own: fit a model without --experts", path)
	}
	posterior, done, err := c.Condition(model)
	if err != nil {
		return err
	}
	defer done()
	w, err := posterior.Weights(c.Ctx)
	c.Msg.Clear()
	if err != nil {
		return err
	}
	return c.WriteFile(file, func(out io.Writer) error { return columns.WriteWeights(out, file.Format == output.JSON, w) })
}

func runExport(c *cli.Command) error {
	file, err := c.File(output.JSON, output.NPZ)
	if err != nil {
		return err
	}
	m, err := c.LoadModel(c.Args[0])
	if err != nil {
		return err
	}
	export := exchange.WriteJSON
	if file.Format == output.NPZ {
		export = exchange.WriteNPZ
	}
	return c.WriteFile(file, func(w io.Writer) error { return export(m, w) })
}
