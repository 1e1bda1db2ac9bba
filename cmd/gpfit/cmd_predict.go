package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/device"
	"gpfit/gp"
	"gpfit/internal/columns"
	"gpfit/internal/rows"
	"gpfit/internal/textform"
)

type predictFlags struct {
	flags.Options
	predict columns.Predict
	plot    flags.Plot
	// plotBy is the feature along which to plot the rows, and plotColumns are the columns
	// whose effects to plot.
	plotBy      string
	plotColumns []string
	format      string
	score       bool
	// draws is the largest number of draws of the parameters to average over; 0 means the
	// parameters of the optimum.
	draws int
	// combine replaces the rule of a model with local experts.
	combine string
	file    *output.File
}

func newPredict() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict MODEL DATA",
		Short: "Predict mean, standard deviation and interval for every row of a table",
		Long: `Predict with a model that "gpfit fit" wrote. For every row of DATA the result has, in
original units:

  mean              posterior mean
  std               standard deviation of a new observation, noise included
  lower95, upper95  its central interval, with the probability 0.95; --interval 0.5,0.9
                    gives lower50, upper50, lower90 and upper90 instead
  std_latent        standard deviation of the function without noise

and on request

  mean_function, mean_TERM, std_TERM  with --terms: the part of the mean function
                    (and of the scaling), and posterior mean and deviation of each
                    term of a sum of kernels, k1, k2, …; the means add up to mean
  gradient_NAME     with --gradient: derivative of the mean by that feature
  gradient_std_NAME  with --gradient-std: standard deviation of the function's
                    derivative by that feature, for kernels without a kink
  draw0, draw1, …   with --draws: joint draws of all rows from the posterior

If the model has several targets, each of these names begins with the name of its
target and a point. The columns of --keep come first, as DATA has them.

The result is CSV on standard output, or a file whose name gives the format:
.csv, .jsonl (an object for each row), .json (one object), .parquet or .npy, and text
also with .gz. --format gives the format of standard output. With --json and a file of
another format, gpfit prints a summary as JSON.

gpfit finds the columns by the names that the model was trained with, in any order,
and ignores others; --features names others, in the model's order. It finds the
columns of known noise variances and of noise groups in the same way. Without known
variances, std includes only the estimated noise, and gpfit warns. Rows without a
noise group are an error unless --noise-group-default names one.

--mean-only predicts the mean alone, without the factorisation and the variances,
which take nearly all of the time. --score compares the predictions with the targets
in DATA: RMSE, MAE, NLPD (mean negative log predictive density) and the share of
targets in each interval. Rows without a target are predicted and not scored.

If MODEL has draws of its parameters (gpfit fit --posterior), predictions average over
them: mean and std are those of the mixture, and intervals have its quantiles. Each
draw takes a factorisation; --posterior-draws limits their number.

gpfit reads and writes a few thousand rows at a time, so DATA may be larger than
memory. As JSON object or .npy, and with --draws or --cov, it holds all results in
memory.

--plot draws the predictions with their interval. If the rows differ in one column, it
shows them along this column, with the training data. If they differ in several, no line
joins them: the plot then shows the effect of each of the six most relevant columns, over
its range in the training data with the other columns at their median or most common
category: the mean of the function and the interval of the function without noise.
--plot-column chooses the columns. --plot-by NAME shows the rows along NAME instead,
each with a dot and a bar.`,
		Example: `  gpfit predict co2.gpfit examples/co2_new.csv
  gpfit predict model.gpfit new.csv --interval 0.5,0.9 --out predictions.parquet
  gpfit predict model.gpfit new.csv --keep id,date --missing blank --mean-only
  gpfit predict model.gpfit labelled.csv --score --out predictions.csv.gz
  gpfit predict co2.gpfit examples/co2_new.csv --plot forecast.svg --plot-by year
  gpfit predict model.gpfit new.csv --terms --gradient --json
  gpfit predict model.gpfit new.csv --draws 100 --seed 7 --cov covariance.npy`,
		RunE: func(cmd *cobra.Command, args []string) error { return runPredict(cmd, args[0], args[1], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "predict")
	s.Float64SliceVar(&f.predict.Probabilities, "interval", []float64{0.95}, "probability of the interval for a new observation; several, separated by commas, give several intervals")
	s.BoolVar(&f.predict.MeanOnly, "mean-only", false, "predict only the mean, in about a hundredth of the time")
	s.BoolVar(&f.score, "score", false, "also compare the predictions with the targets in DATA")
	s.BoolVar(&f.predict.Terms, "terms", false, "also predict each term of a sum of kernels")
	s.BoolVar(&f.predict.Gradient, "gradient", false, "also give the derivatives of the mean by the features")
	s.BoolVar(&f.predict.GradientStd, "gradient-std", false, "also give the standard deviations of the function's derivatives: 2n² operations per row and feature")
	addFormat(s, &f.format)
	s.IntVar(&f.draws, "posterior-draws", defaultPosteriorDraws, "average over at most `N` draws of the parameters, if MODEL has them; 0 predicts with the optimum")
	s.StringVar(&f.combine, "combine", "", "how the local experts of MODEL predict: rbcm or nearest (default: the rule of the fit)")
	f.plot.Add(s, "the predictions along one column, or the effect of each column if the rows differ in several,")
	s.StringVar(&f.plotBy, "plot-by", "", "plot the rows along the feature `NAME`, each with a dot and a bar if they differ in others, too")
	s.StringSliceVar(&f.plotColumns, "plot-column", nil, "plot the effect of the columns `NAME`, separated by commas, instead of the most relevant ones")
	flags.CommandLineOnly(s, "posterior-draws", "combine")
	flags.Completions(s, "combine", "rbcm", "nearest")
	flags.CommandLineOnly(s, "score") // gpfit select has a flag of this name
	flags.InGroup(s, "Prediction", "interval", "mean-only", "score", "terms", "gradient", "gradient-std", "posterior-draws", "combine")
	flags.InGroup(s, "Output", "plot-by", "plot-column")
	return cmd
}

// defaultPosteriorDraws bounds the time of a prediction, which is one factorisation for
// each draw. With 100 independent draws the mean has a tenth of the standard deviation
// that the parameters' uncertainty gives it as Monte Carlo error.
const defaultPosteriorDraws = 100

// mixes reports whether predictions average over draws of the parameters.
func (f *predictFlags) mixes(m *gp.Model) bool { return f.draws > 0 && m.Draws.Len() > 0 }

// check finds mistakes in the flags before any work.
func (f *predictFlags) check() (err error) {
	for i, p := range f.predict.Probabilities {
		switch {
		case !(p > 0 && p < 1):
			return exit.Usagef("--interval %v: must be a probability between 0 and 1, such as 0.9", p)
		case slices.Contains(f.predict.Probabilities[:i], p):
			return exit.Usagef("--interval: %v is there twice", p)
		}
	}
	f.predict.Sampling = f.Joint
	if f.draws < 0 {
		return exit.Usagef("--posterior-draws %d: must not be negative", f.draws)
	}
	if len(f.predict.Probabilities) == 0 {
		return exit.Usagef("--interval: give at least one probability, such as 0.9")
	}
	if f.Rows.Missing == "blank" && f.predict.Wanted() {
		return exit.Usagef("--missing blank: joint draws and covariances have no blank rows; give --missing drop")
	}
	if err := f.checkMeanOnly(); err != nil {
		return err
	}
	if f.file, err = output.Choose(f.Output.Out, f.format, f.Output.JSON, output.Tables()...); err != nil {
		return err
	}
	if f.file.Format == output.NPY && len(f.Rows.Keep) > 0 {
		return exit.Usagef("--keep: a NumPy array of numbers cannot hold text; write another format, such as .parquet")
	}
	f.Rows.Observed = f.score
	return nil
}

// checkMeanOnly returns an error for results that the mean alone does not have.
func (f *predictFlags) checkMeanOnly() error {
	if !f.predict.MeanOnly {
		return nil
	}
	for flag, given := range map[string]bool{
		"terms": f.predict.Terms, "gradient": f.predict.Gradient, "gradient-std": f.predict.GradientStd,
		"draws": f.predict.Draws > 0, "cov": f.predict.Covariance != "", "plot": f.plot.Path != "",
	} {
		if given {
			return exit.Usagef("--mean-only gives the mean alone: leave out --%s", flag)
		}
	}
	return nil
}

// checkTerminal keeps binary formats off a terminal.
func (f *predictFlags) checkTerminal(stdout io.Writer) error {
	binary := f.file.Format == output.Parquet || f.file.Format == output.NPY
	if to, ok := stdout.(*os.File); ok && binary && f.Output.Out == "" && term.IsTerminal(int(to.Fd())) {
		return exit.Usagef("--format %s cannot go to a terminal: give --out FILE", f.file.Format)
	}
	return nil
}

// outputs returns the files to write. Each of several targets has its own covariance
// file.
func (f *predictFlags) outputs(m *gp.Model) []output.Destination {
	files := []output.Destination{{Flag: "out", Path: f.Output.Out}, {Flag: "plot", Path: f.plot.Path}}
	if len(m.Targets) == 0 {
		return append(files, output.Destination{Flag: "cov", Path: f.predict.Covariance})
	}
	for _, t := range m.Targets {
		files = append(files, output.Destination{Flag: "cov", Path: f.predict.CovarianceFile(t.Name)})
	}
	return files
}

func runPredict(cmd *cobra.Command, modelPath, dataPath string, f *predictFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	if err := f.check(); err != nil {
		return err
	}
	if err := f.checkTerminal(cmd.OutOrStdout()); err != nil {
		return err
	}
	model, err := gp.Load(modelPath)
	if err != nil {
		return err
	}
	if err := cmp.Or(f.checkMixture(model), f.takeExperts(model)); err != nil {
		return err
	}
	if err := output.Check(f.Output.Force, f.outputs(model), modelPath, dataPath); err != nil {
		return err
	}
	f.predict.OnNote = msg.Say
	plot, err := f.openPlot(model)
	if err != nil {
		return err
	}
	in, err := f.OpenRows(ctx, dataPath, cmd.InOrStdin(), model)
	if err != nil {
		return err
	}
	run := &prediction{predictFlags: f, model: model, in: readAhead{table: in, path: dataPath}, picture: plot, msg: msg}
	defer run.in.close(ctx)
	if err := run.begin(ctx); err != nil {
		return err
	}
	done, err := run.prepare(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = f.Write(ctx, cmd.OutOrStdout(), f.file.Compressed(func(w io.Writer) error { return run.write(ctx, w) }))
	msg.Clear()
	for _, w := range run.read.warnings[run.warned:] {
		msg.Warn(w)
	}
	if err == nil && plot != nil {
		err = run.drawPlot(ctx)
	}
	if err != nil {
		return err
	}
	return run.conclude(cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// prediction is a run of the command.
type prediction struct {
	*predictFlags
	model *gp.Model
	in    readAhead
	out   writeBehind
	// read holds the rows in hand.
	read    rowsRead
	warned  int // warnings shown
	picture *predictPlot
	msg     *messages.Writer
	// parts predicts rows.
	parts func(ctx context.Context, in rows.Rows) ([]columns.TargetColumns, error)
	// marginal predicts rows for the plot.
	marginal predictor
	scorer   columns.Scorer
	info     map[string]any
	began    time.Time
	done     int // rows
}

// begin reads the first rows, whose errors end the command before the work begins.
func (r *prediction) begin(ctx context.Context) (err error) {
	read := r.in.read
	if r.predict.Wanted() {
		read = r.in.readAll
	}
	if r.read, err = flags.Await(ctx, r.in.path, read); err != nil {
		return flags.RowsError(err)
	}
	if m := r.Rows.Missing; m == "drop" || m == "blank" {
		return nil // a warning still changes
	}
	for _, w := range r.read.warnings {
		r.msg.Warn(w)
		r.warned++
	}
	return nil
}

// prepare opens the device for the predictions. The caller calls the returned function
// when they are done.
func (r *prediction) prepare(ctx context.Context) (func(), error) {
	if r.predict.MeanOnly {
		means, done, err := devices.Means(ctx, r.msg, r.Compute, r.model)
		r.parts = func(ctx context.Context, in rows.Rows) ([]columns.TargetColumns, error) {
			return r.predict.Means(ctx, means, in)
		}
		return done, err
	}
	if r.mixes(r.model) {
		mixture, done, err := devices.Mixture(ctx, r.msg, r.Compute, r.model, r.draws)
		if err != nil {
			return nil, err
		}
		r.msg.Note("averaging over %d draws of the parameters", mixture.Len())
		r.parts = func(ctx context.Context, in rows.Rows) ([]columns.TargetColumns, error) {
			return r.predict.Mixed(ctx, mixture, in)
		}
		r.marginal = func(ctx context.Context, in rows.Rows) ([]*gp.Prediction, error) {
			return mixture.Predict(ctx, in.X, in.N, in.Noise)
		}
		return done, nil
	}
	posterior, done, err := devices.Condition(ctx, r.msg, r.Compute, r.model)
	if err != nil {
		return nil, err
	}
	if !r.predict.Wanted() {
		posterior.Workspace().OnProgress(func(p device.Progress) { r.progress(p.Done / p.Total) })
	}
	r.parts = func(ctx context.Context, in rows.Rows) ([]columns.TargetColumns, error) {
		return r.predict.Parts(ctx, posterior, in)
	}
	r.marginal = func(ctx context.Context, in rows.Rows) ([]*gp.Prediction, error) {
		return posterior.PredictTargets(ctx, in.X, in.N, in.Noise)
	}
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
	r.msg.Status("%s", text)
}

// write predicts the rows in hand and all further ones, and writes the results of each
// piece at once. Meanwhile it reads the next piece, and writes the one before.
func (r *prediction) write(ctx context.Context, w io.Writer) (err error) {
	r.info, r.began = r.predict.Info(), time.Now()
	out, kept := r.file.Sheet(w, r.info), r.in.table.KeptNames()
	defer func() { err = cmp.Or(r.out.wait(), err) }() // the earlier rows first
	for r.read.rows.Total > 0 {
		r.in.start()
		piece := r.read.rows
		parts, err := r.parts(ctx, piece)
		if err != nil {
			return r.inTable(err)
		}
		if r.score {
			r.scorer.Add(&r.predict, piece, parts)
		}
		if r.picture != nil {
			r.picture.add(piece, parts)
		}
		if err := r.out.wait(); err != nil {
			return err
		}
		keys := columns.Keys{Names: kept, Values: piece.Keep, Blank: piece.Blank}
		r.out.start(func() error { return out.AddKeyed(parts, keys) })
		r.done += piece.Total
		r.read.rows.Total = 0
		r.progress(0)
		next, err := r.in.await(ctx)
		if err != nil {
			r.read.warnings = append(r.read.warnings, next.warnings[min(len(r.read.warnings), len(next.warnings)):]...)
			return err
		}
		r.read = next
	}
	if err := r.out.wait(); err != nil {
		return err
	}
	r.info["n"] = r.done
	if r.score {
		scores := r.scorer.Scores(&r.predict, r.model)
		if scores == nil {
			return exit.Usagef("--score: no row of the table has a target")
		}
		r.info["scores"] = scores
	}
	return out.End()
}

// drawPlot writes the plot.
func (r *prediction) drawPlot(ctx context.Context) error {
	figure, err := r.picture.figure(ctx, r.Compute.Threads, r.predict.Probabilities[0], r.marginal)
	if err != nil {
		return err
	}
	if r.picture.effects() && r.picture.chosen == nil {
		r.msg.Note("the rows differ in several columns: the plot shows the effect of each column; --plot-by NAME shows the rows, and --plot-column NAME one effect")
	}
	return r.predictFlags.plot.Write(ctx, figure, r.Output.Force)
}

// inTable adds the rows before the piece in hand to the row of an error.
func (r *prediction) inTable(err error) error {
	var e *gp.RangeError
	if errors.As(err, &e) && e.Row >= 0 {
		keys := columns.Keys{Blank: r.read.rows.Blank}
		e.Row = r.done + keys.Place(e.Row)
	}
	return err
}

// conclude prints the summary of a file as JSON, or the scores: on standard output if
// the predictions are in a file, and otherwise on standard error.
func (r *prediction) conclude(stdout, stderr io.Writer) error {
	scores, ok := r.info["scores"].([]columns.Score)
	switch {
	case r.Output.JSON:
		return r.file.Summary(stdout, true, r.info)
	case !ok:
		return nil
	case r.file.OnStdout():
		stdout = stderr
	}
	_, err := io.WriteString(stdout, textform.Printable(scoreText(scores, r.predict.Probabilities), math.MaxInt))
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
