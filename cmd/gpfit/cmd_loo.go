package main

import (
	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/internal/columns"
)

func newLOO() *cobra.Command {
	return frame.New("loo", &cobra.Command{
		Use:   "loo MODEL",
		Short: "Predict each training row of a model from the others, with scores",
		Long: `Predict every training row of a model from all the others, with one factorisation
(Rasmussen & Williams 2006, section 5.4.2). The parameters do not change: their fit
included the row. The result has these columns, in original units:

  row           number of the training row in its table, from 0 without the header
  target        the observed value
  mean, std     its prediction from the other rows, noise included
  residual      target - mean
  standardized  residual/std, standard normal if the model is right
  log_density   log predictive density of the target

gpfit prints the scores over all rows on standard error: RMSE, NLPD (mean negative
log predictive density), Q2 (1 - squared residuals/squared deviations from the
mean), and the shares of targets in their 50, 90 and 95 % intervals. With --json
the result also contains them.`,
		Example: `  gpfit loo co2.gpfit --out residuals.csv
  gpfit loo co2.gpfit --json`,
	}, runLOO)
}

func runLOO(c *frame.Command) error {
	file, err := c.File()
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
	if err := c.WriteTable(file, map[string]any{"type": "loo", "n": s.N, "summary": s}, columns.LeaveOneOut(model, l)); err != nil {
		return err
	}
	c.Msg.Note("leave-one-out over %d rows: RMSE %.6g, NLPD %.6g, Q2 %.6g", s.N, s.RMSE, s.NLPD, s.Q2)
	c.Msg.Note("in the 50, 90, 95 %% interval: %.1f, %.1f, %.1f %%; standardized residuals: mean %.3f, root mean square %.3f",
		100*s.Coverage50, 100*s.Coverage90, 100*s.Coverage95, s.MeanStandardized, s.RMSStandardized)
	return nil
}
