package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/fit"
	"gpfit/gp"
	"gpfit/internal/suggest"
	"gpfit/kernel"
)

type sampleFlags struct {
	prior         string
	set           []string
	unconditional bool
	grid          string
	target        string
	out           string
	rowFlags
	jointFlags
	deviceFlags
}

func newSample() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use:   "sample [MODEL] [DATA]",
		Short: "Joint draws at the rows of a table, from a posterior or a prior",
		Long: `Draw functions at the rows of DATA, jointly:

  gpfit sample MODEL DATA                  from the posterior of a model
  gpfit sample MODEL DATA --unconditional  from its prior, as if it had seen no data
  gpfit sample --prior EXPRESSION DATA     from a covariance function, mean 0

The columns of the result are the features, then draw0, draw1, … in original
units. With --prior all columns of DATA are inputs unless --features says
otherwise; parameters are what the expression or --set says, else 1, and
noise_variance (for --observed) may be set, else 0. --grid LO:HI:COUNT stands for
a DATA of one column of equally spaced numbers.

Rows so close that their covariance is singular to working precision are drawn
from its numerical range; nothing is added to its diagonal.`,
		Example: `  gpfit sample co2.gpfit examples/co2_new.csv --draws 20 --seed 7
  gpfit sample --prior 'rbf(lengthscale=2) + matern12' --grid 0:10:101 --draws 5`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runSample(cmd, args, &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.StringVar(&f.prior, "prior", "", "draw from this covariance function, an `EXPRESSION`, not from a MODEL")
	s.StringArrayVar(&f.set, "set", nil, "parameter of --prior, `NAME=VALUE` (may be repeated)")
	s.BoolVar(&f.unconditional, "unconditional", false, "draw from the model's prior")
	s.StringVar(&f.grid, "grid", "", "rows of one feature, equally spaced, in place of DATA: `LO:HI:COUNT`")
	s.StringVar(&f.target, "target", "", "`NAME` of the target, if the model has several")
	f.rowFlags.add(s)
	f.jointFlags.add(s, 1)
	s.StringVar(&f.out, "out", "", "write to `FILE` instead of standard output")
	commandLineOnly(s, "target", "prior", "set", "out")
	f.deviceFlags.add(s)
	completeValues(cmd)
	return cmd
}

// sampleRows are the rows to draw at: n rows of all features, of which used are
// shown.
type sampleRows struct {
	// target is the one of several that is drawn.
	target string
	names  []string
	used   []int
	rows   []float64
	n      int
}

func runSample(cmd *cobra.Command, args []string, f *sampleFlags) error {
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
	if err := f.check(args); err != nil {
		return err
	}
	var joint *gp.Joint
	var rows sampleRows
	var err error
	if f.prior != "" {
		joint, rows, err = f.fromExpression(cmd.Context(), cmd.InOrStdin(), args, msg)
	} else {
		joint, rows, err = f.fromModel(cmd.Context(), cmd.InOrStdin(), args, msg)
	}
	msg.clear()
	if err != nil {
		return err
	}
	r := part{info: map[string]any{}}
	for _, c := range rows.used {
		values := make([]float64, rows.n)
		for i := range values {
			values[i] = rows.rows[i*len(rows.names)+c]
		}
		r.add(rows.names[c], values, "inputs", rows.names[c])
	}
	if err := f.use(joint, &r, rows.target, msg); err != nil {
		return err
	}
	return writeOut(cmd, f.out, func(w io.Writer) error { return writeAll(w, f.json, map[string]any{"type": "sample"}, r) })
}

// check checks that arguments and flags go together.
func (f *sampleFlags) check(args []string) error {
	var want []string
	if f.prior == "" {
		want = append(want, "MODEL")
	}
	if f.grid == "" {
		want = append(want, "DATA")
	}
	switch {
	case len(args) != len(want) && want == nil:
		return usagef("%d arguments, expected none: --prior and --grid stand for MODEL and DATA", len(args))
	case len(args) != len(want):
		return usagef("%d arguments, expected %s", len(args), strings.Join(want, " "))
	case f.prior != "" && f.unconditional:
		return usagef("--unconditional goes with a MODEL, not with --prior")
	case f.prior != "" && f.target != "":
		return usagef("--target goes with a MODEL, not with --prior")
	case f.prior == "" && f.set != nil:
		return usagef("--set goes with --prior: a MODEL has its parameters")
	}
	if f.noise != (rowNoiseFlags{}) && (f.prior != "" || !f.observed) {
		return usagef("--noise-column, --noise-group and --noise-group-default go with a MODEL and --observed")
	}
	return errors.Join(f.jointFlags.check(), keepInput("--out", f.out, args...), keepInput("--cov", f.cov, args...))
}

func (f *sampleFlags) fromModel(ctx context.Context, stdin io.Reader, args []string, msg *messages) (*gp.Joint, sampleRows, error) {
	r := sampleRows{}
	model, err := gp.Load(args[0])
	if err != nil {
		return nil, r, err
	}
	if model.T() > 1 {
		r.target = f.target
	}
	if model, err = targetOf(model, f.target); err != nil {
		return nil, r, err
	}
	r.names, r.used = model.FeatureNames, model.Columns
	opts := gp.JointOptions{Observed: f.observed}
	if f.grid == "" {
		of := *model
		if !f.observed {
			of.Noise = gp.Noise{} // no need to know the rows'
		}
		in, err := openModelRows(args[1], stdin, f.rowFlags, &of)
		if err != nil {
			return nil, r, err
		}
		defer in.close()
		rows, err := in.next(predictRows)
		if err == nil {
			rows, err = in.rest(rows)
		}
		if err != nil {
			return nil, r, err
		}
		for _, w := range in.warnings() {
			msg.warn(w)
		}
		r.rows, r.n, opts.Noise = rows.rows, rows.n, rows.noise
	} else {
		if len(r.names) != 1 {
			return nil, r, usagef("--grid is for one feature, the model has %d", len(r.names))
		}
		if r.rows, err = parseGrid(f.grid); err != nil {
			return nil, r, err
		}
		r.n = len(r.rows)
		if err := model.CheckNoise(r.n, opts.Noise); err != nil && f.observed {
			return nil, r, explainNoise(err)
		}
	}
	if f.unconditional {
		j, err := model.Prior(ctx, r.rows, r.n, opts)
		return j, r, err
	}
	posterior, done, err := f.condition(ctx, msg, model)
	if err != nil {
		return nil, r, err
	}
	defer done()
	j, err := posterior.Joint(ctx, r.rows, r.n, opts)
	return j, r, err
}

func (f *sampleFlags) fromExpression(ctx context.Context, stdin io.Reader, args []string, msg *messages) (*gp.Joint, sampleRows, error) {
	r := sampleRows{}
	expr, err := kernel.Parse(f.prior)
	if err != nil {
		return nil, r, err
	}
	if f.grid != "" {
		if r.rows, err = parseGrid(f.grid); err != nil {
			return nil, r, err
		}
		r.names, r.n = []string{"x"}, len(r.rows)
	} else {
		data := dataFlags{features: f.features, header: f.header}
		o, err := data.tableOptions()
		if err != nil {
			return nil, r, err
		}
		o.NoTarget = true
		t, err := readTable(args[0], stdin, o)
		if err != nil {
			return nil, r, err
		}
		for _, w := range t.Warnings {
			msg.warn(w)
		}
		r = sampleRows{names: t.FeatureNames, rows: t.X, n: t.N}
	}
	d := len(r.names)
	r.used = kernel.Columns(d)
	prog, err := kernel.Compile(expr, kernel.Columns(d))
	if err != nil {
		return nil, r, err
	}
	theta, noise, err := f.parameters(prog)
	if err != nil {
		return nil, r, err
	}
	var variances []float64
	if f.observed {
		variances = make([]float64, r.n)
		for i := range variances {
			variances[i] = noise
		}
	}
	j, err := gp.NewPrior(ctx, prog, theta, kernel.NewPoints(r.rows, r.n, d), variances)
	return j, r, err
}

// parameters returns what the text of the kernel and --set say.
func (f *sampleFlags) parameters(prog *kernel.Program) (theta []float64, noise float64, err error) {
	theta = make([]float64, prog.NumParams)
	index := map[string][]int{}
	for _, p := range prog.Params {
		for i, name := range p.ElementNames() {
			theta[p.Offset+i] = 1
			if p.Start != nil {
				theta[p.Offset+i] = p.Start[i]
			}
			index[name] = append(index[name], p.Offset+i)
			if p.Vector {
				index[p.Name] = append(index[p.Name], p.Offset+i)
			}
		}
	}
	for _, text := range f.set {
		a, err := parseAssignment("--set", text)
		if err != nil {
			return nil, 0, err
		}
		if !a.Given || !(a.Value >= 0) {
			return nil, 0, usagef("--set %s: needs NAME=VALUE with a positive number", text)
		}
		if a.Name == noiseVariance {
			noise = a.Value
			continue
		}
		if index[a.Name] == nil {
			return nil, 0, &fit.OptionError{Msg: "--set " + a.Name + ": there is no such parameter" + suggest.DidYouMean(a.Name, append(prog.Names(), noiseVariance))}
		}
		for _, i := range index[a.Name] {
			theta[i] = a.Value
		}
	}
	return theta, noise, nil
}

const noiseVariance = "noise_variance"

// parseGrid reads LO:HI:COUNT.
func parseGrid(text string) ([]float64, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, usagef("--grid %s: needs LO:HI:COUNT", text)
	}
	lo, err1 := strconv.ParseFloat(parts[0], 64)
	hi, err2 := strconv.ParseFloat(parts[1], 64)
	count, err3 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil || err3 != nil || !(lo < hi) || hi-lo-(hi-lo) != 0 || count < 2 || count > 1<<24 {
		return nil, usagef("--grid %s: needs LO:HI:COUNT with LO < HI and a COUNT from 2", text)
	}
	out := make([]float64, count)
	for i := range out {
		t := float64(i) / float64(count-1)
		out[i] = lo*(1-t) + hi*t
	}
	return out, nil
}
