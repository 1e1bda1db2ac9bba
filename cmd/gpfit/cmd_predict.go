package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/compare/companion"
	"gpfit/device"
	"gpfit/fit/columns"
	"gpfit/fit/dataset"
	"gpfit/gp"
	"gpfit/internal/each"
	"gpfit/internal/textform"
	"gpfit/method/experts"
)

// checkPredict finds mistakes in the options before any work.
func checkPredict(c *cli.Command) (*output.File, error) {
	for i, p := range c.Predict.Probabilities {
		if slices.Contains(c.Predict.Probabilities[:i], p) {
			return nil, exit.Usagef("--interval: %v is there twice", p)
		}
	}
	file, err := c.File(output.Tables()...)
	if err == nil {
		err = output.CheckTerminal(c.Out, c.Output.Out, file.Format)
	}
	if err != nil {
		return nil, err
	}
	if file.Format == output.NPY && len(c.Rows.Keep) > 0 {
		return nil, exit.Usagef("--keep: a NumPy array of numbers cannot hold text; write another format, such as .parquet")
	}
	return file, nil
}

// checkModel returns an error for results that a model does not have, and applies the rule of
// --combine.
func checkModel(c *cli.Command, m *gp.Model) error {
	local, err := experts.Read(m.State)
	switch {
	case err != nil:
		return err
	case c.Combine != "" && local == nil:
		return exit.Usagef("--combine %s: the model has no local experts (gpfit fit --experts)", c.Combine)
	case c.Combine != "":
		local.Combine = c.Combine
		m.State = local.State()
	}
	if mixes(c, m) {
		const without = "predictions that average over draws of the parameters do not have it"
		if c.Changed("posterior-draws") {
			return refuse(c, without+"; give --posterior-draws 0 to predict with the parameters of the optimum")
		}
		if err := refuse(c, without+", so that these predictions use the parameters of the optimum"); err != nil {
			c.Msg.Note("%v", err)
			c.PosteriorDraws = 0
		}
	}
	if local == nil {
		return nil
	}
	return refuse(c, "the model has local experts, which predict each row alone; leave it out, or fit a model without --experts")
}

// mixes reports whether predictions average over draws of the parameters.
func mixes(c *cli.Command, m *gp.Model) bool { return c.PosteriorDraws > 0 && m.Draws.Len() > 0 }

// refuse returns an error with the reason if the options ask for other results than means and
// deviations of rows, or for one of the others.
func refuse(c *cli.Command, reason string, others ...string) error {
	for _, name := range append([]string{"terms", "gradient", "gradient-std", "draws", "cov"}, others...) {
		if c.Has(name) {
			return exit.Usagef("--%s: %s", name, reason)
		}
	}
	return nil
}

// covariances returns the files for covariances. Each of several targets has its own.
func covariances(c *cli.Command, m *gp.Model) []output.Destination {
	if len(m.Targets) == 0 {
		return []output.Destination{cli.Destination("cov", c.Predict.Covariance)}
	}
	return each.Of(m.Targets, func(t gp.Target) output.Destination { return cli.Destination("cov", c.Predict.CovarianceFile(t.Name)) })
}

func runPredict(c *cli.Command) error {
	file, err := checkPredict(c)
	if err != nil {
		return err
	}
	model, regression, err := loadAny(c)
	if err != nil {
		return err
	}
	if err := c.CheckOutputs(c.Args, covariances(c, model)...); err != nil {
		return err
	}
	c.Predict.OnNote = c.Msg.Say
	plot, err := openPlot(c, model)
	if err != nil {
		return err
	}
	in, err := c.OpenRows(c.Args[1], model)
	if err != nil {
		return err
	}
	far, err := newOutside(model)
	if err != nil {
		return err
	}
	run := &prediction{Command: c, file: file, model: model, regression: regression, table: in, picture: plot, outside: far}
	defer run.close()
	if err := run.begin(); err != nil {
		return err
	}
	done, err := run.prepare()
	if err != nil {
		return err
	}
	defer done()
	err = c.WriteFile(file, run.write)
	c.Msg.Clear()
	c.Msg.Warn(run.read.warnings[run.warned:]...)
	c.Msg.Warn(far.warnings()...)
	if err == nil && plot != nil {
		err = run.drawPlot()
	}
	if err != nil {
		return err
	}
	return run.conclude()
}

// loadAny loads the model of the command: a process, or a regression with a model that describes its rows. It
// returns an error for results that the model does not have.
func loadAny(c *cli.Command) (*gp.Model, *companion.Regression, error) {
	if !companion.Is(c.Args[0]) {
		model, err := c.Load(c.Args[0])
		if err != nil {
			return nil, nil, err
		}
		return model, nil, checkModel(c, model)
	}
	regression, _, err := companion.Load(c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	c.Predict.MeanOnly = c.Predict.MeanOnly || !regression.HasDensity()
	without := fmt.Sprintf("the model is a regression by the method %s, which predicts mean and deviation of each row alone; leave it out", regression.Method)
	return regression.Rows(), regression, refuse(c, without, "combine", "plot")
}

// prediction is a run of the command.
type prediction struct {
	*cli.Command
	file  *output.File
	model *gp.Model
	// regression predicts in place of a process, whose rows model then describes; nil for a process.
	regression *companion.Regression
	table      *dataset.ModelRows
	// read holds the rows in hand. next waits for the read under way, and written for the write
	// under way; nil if there is none.
	read    rowsRead
	next    func() (rowsRead, error)
	written func() (struct{}, error)
	warned  int // warnings shown
	picture *predictPlot
	outside *outside
	// parts predicts rows.
	parts func(in dataset.Rows) ([]columns.TargetColumns, error)
	// marginal predicts rows for the plot.
	marginal predictor
	scorer   columns.Scorer
	info     map[string]any
	began    time.Time
	done     int // rows
}

// rowsRead has the rows of one read, with the state of the reader after it.
type rowsRead struct {
	rows     dataset.Rows
	progress float64
	warnings []string
}

// start calls a function in a goroutine, and returns a function that waits for its results.
func start[T any](f func() (T, error)) func() (T, error) {
	wait := sync.OnceValues(f)
	go wait()
	return wait
}

// from returns a function that reads rows. They remain valid during the next read.
func (r *prediction) from(read func() (dataset.Rows, error)) func() (rowsRead, error) {
	return func() (rowsRead, error) {
		piece, err := read()
		return rowsRead{piece.Clone(), r.table.Progress(), r.table.Warnings()}, err
	}
}

// await returns the rows of a read, or an error when the command is interrupted.
func (r *prediction) await(read func() (rowsRead, error)) (rowsRead, error) {
	in, err := flags.Await(r.Ctx, r.Args[1], read)
	return in, cli.RowsError(err)
}

// wait waits for the write under way and returns its error.
func (r *prediction) wait() error {
	if r.written == nil {
		return nil
	}
	_, err := r.written()
	return err
}

// close waits for the read under way and closes the table. It does not wait for
// standard input, which may never end and which it does not close.
func (r *prediction) close() {
	if r.next != nil && r.Args[1] != "-" {
		_, _ = r.await(r.next)
	}
	_ = r.table.Close()
}

// begin reads the first rows, whose errors end the command before the work begins.
func (r *prediction) begin() (err error) {
	read := r.table.Next
	if r.Predict.Wanted() {
		read = r.table.All
	}
	if r.read, err = r.await(r.from(read)); err != nil {
		return err
	}
	if m := r.Rows.Missing; m == "drop" || m == "blank" {
		return nil // a warning still changes
	}
	r.Msg.Warn(r.read.warnings...)
	r.warned = len(r.read.warnings)
	return nil
}

// prepare opens the device for the predictions. The caller calls the returned function
// when they are done.
func (r *prediction) prepare() (func(), error) {
	if r.regression != nil {
		r.parts = func(in dataset.Rows) ([]columns.TargetColumns, error) {
			p, err := r.regression.Predict(in.X, in.N)
			if err != nil {
				return nil, err
			}
			return r.Predict.Marginals(r.model, []*gp.Prediction{p}), nil
		}
		return func() {}, nil
	}
	if r.Predict.MeanOnly && !mixes(r.Command, r.model) {
		means, done, err := r.Means(r.model)
		r.parts = func(in dataset.Rows) ([]columns.TargetColumns, error) {
			return r.Predict.Means(r.Ctx, r.model, means.PredictMeans, in)
		}
		return done, err
	}
	if mixes(r.Command, r.model) {
		mixture, done, err := r.Mixture(r.model, r.PosteriorDraws)
		if err != nil {
			return nil, err
		}
		r.Msg.Note("averaging over %d draws of the parameters", min(r.PosteriorDraws, r.model.Draws.Len()))
		r.parts = func(in dataset.Rows) ([]columns.TargetColumns, error) {
			if r.Predict.MeanOnly {
				return r.Predict.Means(r.Ctx, r.model, mixture.PredictMeans, in)
			}
			return r.Predict.Mixed(r.Ctx, mixture, in)
		}
		r.marginal = predictor{mixture.Predict, mixture.PredictMeans}
		return done, nil
	}
	posterior, done, err := r.Condition(r.model)
	if err != nil {
		return nil, err
	}
	if !r.Predict.Wanted() {
		posterior.Workspace().OnProgress(func(p device.Progress) { r.progress(p.Done / p.Total) })
	}
	r.parts = func(in dataset.Rows) ([]columns.TargetColumns, error) { return r.Predict.Parts(r.Ctx, posterior, in) }
	r.marginal = predictor{posterior.PredictTargets, posterior.PredictMeans}
	return done, nil
}

// progress shows how far the prediction of the whole table is. part is the share of
// the rows in hand that are predicted.
func (r *prediction) progress(part float64) {
	rows, elapsed := float64(r.done)+part*float64(r.read.rows.Total), time.Since(r.began)
	text := fmt.Sprintf("%d rows", int(rows))
	// Reading is ahead by the rows in hand.
	if read := float64(r.done + r.read.rows.Total); r.read.progress > 0 && rows > 0 {
		share := min(1, r.read.progress*rows/read)
		text += fmt.Sprintf(" (%.0f %%)", 100*share)
		if elapsed > time.Second {
			left := time.Duration(float64(elapsed) * (1 - share) / share)
			text += fmt.Sprintf(", %.3g rows/s, %s left", rows/elapsed.Seconds(), left.Round(time.Second))
		}
	}
	r.Msg.Status("%s", text)
}

// write predicts the rows in hand and all further ones, and writes the results of each
// piece at once. Meanwhile it reads the next piece, and writes the previous one.
func (r *prediction) write(w io.Writer) (err error) {
	r.info, r.began = r.Predict.Info(), time.Now()
	out, kept := r.file.Sheet(w, r.info), r.table.KeptNames()
	defer func() { err = cmp.Or(r.wait(), err) }() // the earlier rows first
	for r.read.rows.Total > 0 {
		r.next = start(r.from(r.table.Next))
		piece := r.read.rows
		parts, err := r.parts(piece)
		if err != nil {
			return r.inTable(err)
		}
		if r.Rows.Observed {
			r.scorer.Add(&r.Predict, piece, parts)
		}
		if r.picture != nil {
			r.picture.add(piece, parts)
		}
		if err := r.wait(); err != nil {
			return err
		}
		keys := columns.Keys{Names: kept, Values: piece.Keep, Blank: piece.Blank}
		before := r.done
		r.outside.add(piece, parts, func(i int) int { return before + keys.Place(i) })
		r.written = start(func() (struct{}, error) { return struct{}{}, out.AddKeyed(parts, keys) })
		r.done += piece.Total
		r.read.rows.Total = 0
		r.progress(0)
		next, err := r.await(r.next)
		if err != nil {
			r.read.warnings = append(r.read.warnings, next.warnings[min(len(r.read.warnings), len(next.warnings)):]...)
			return err
		}
		r.read = next
	}
	if err := r.wait(); err != nil {
		return err
	}
	reading := r.table.Reading()
	if r.info["n"], r.info["reading"] = r.done, reading; reading.Skipped() > 0 {
		r.Msg.Note("%s", reading.Text())
	}
	if r.outside.N > 0 {
		r.info["outside"] = r.outside
	}
	if r.outside.medians > 0 {
		r.info["medians"] = r.outside.Medians
	}
	if r.Rows.Observed {
		scores := r.scorer.Scores(&r.Predict, r.model)
		if scores == nil {
			return exit.Usagef("--score: no row of the table has a target")
		}
		r.info["scores"] = scores
	}
	return out.End()
}

// drawPlot writes the plot.
func (r *prediction) drawPlot() error {
	figure, err := r.picture.figure(r.Ctx, r.Compute.Threads, r.Predict.Probabilities[0], r.marginal)
	if err != nil {
		return err
	}
	if r.picture.effects() && r.picture.chosen == nil {
		r.Msg.Note("the rows differ in several columns: the plot shows the effect of each column; --plot-by NAME shows the rows, and --plot-column NAME one effect")
	}
	return r.WritePlot(figure)
}

// inTable adds the rows before the piece in hand to the row of an error.
func (r *prediction) inTable(err error) error {
	if e, ok := errors.AsType[*gp.RangeError](err); ok && e.Row >= 0 {
		e.Row = r.done + (&columns.Keys{Blank: r.read.rows.Blank}).Place(e.Row)
	}
	return err
}

// conclude prints the summary of a file as JSON, or the scores: on standard output if
// the predictions are in a file, and otherwise on standard error.
func (r *prediction) conclude() error {
	stdout := r.Out
	scores, ok := r.info["scores"].([]columns.Score)
	switch {
	case r.Output.JSON:
		return r.file.Summary(stdout, true, r.info)
	case !ok:
		return nil
	case r.file.OnStdout():
		stdout = r.Cmd.ErrOrStderr()
	}
	_, err := io.WriteString(stdout, textform.Printable(scoreText(scores, r.Predict.Probabilities), math.MaxInt))
	return err
}

// scoreText returns the scores as lines, target by target.
func scoreText(scores []columns.Score, probabilities []float64) string {
	var b strings.Builder
	for _, s := range scores {
		fmt.Fprintf(&b, "%s, rows scored: %d\n", s.Target, s.N)
		fmt.Fprintf(&b, "  %-24s %10.6g\n  %-24s %10.6g\n", "RMSE", s.RMSE, "MAE", s.MAE)
		if s.NLPD != nil {
			fmt.Fprintf(&b, "  %-24s %10.6g\n", "NLPD", *s.NLPD)
		}
		for _, p := range probabilities {
			if share, ok := s.Coverage[columns.Level(p)]; ok {
				fmt.Fprintf(&b, "  %-24s %8.1f %%\n", "in the "+columns.Level(p)+" % interval", 100*share)
			}
		}
	}
	return b.String()
}
