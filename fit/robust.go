package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/fit/internal/pursuit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/matrixrows"
	"gpfit/mean"
)

// Limits of a robust fit. A search that gains less than worthSearch nats is the last, and there are
// at most mostSearches. A search before the choice of a kernel, whose parameters are no more than start values,
// counts if it gains worthChoice. Descents between searches end at looseNats, unless the user gives a
// tolerance. Rows that alone would gain less than worthRow are no candidates. A row is tried without a variance of
// its own if that gains worthTrying, which is a loss, before the parameters follow.
const (
	worthSearch  = 0.1
	worthChoice  = 100
	mostSearches = 20
	looseNats    = 0.02
	worthRow     = 1
	worthTrying  = -2

	robustStep = "robust" // in the path of a fit
)

// tuneRobust tunes the parameters, and with them the noise variances of rows that do not fit, which
// the job of w then has. It searches for such rows at the start values and after each descent,
// and continues from the parameters that it has. No step but the first descent, from the
// start values, can raise the sum of the objective and the prior of the set of rows. With a result
// from before, found, it continues there. A backward pass ends it.
func tuneRobust(ctx context.Context, w *tuning.Workplace, log *journal.Journal, found *hyperopt.Result) (*hyperopt.Result, error) {
	found, err := tuneForward(ctx, w, log, found)
	for k := 0; err == nil && found.Status.Converged(); k++ {
		var less *hyperopt.Result
		if less, err = tuneWithout(ctx, w, log.Part(fmt.Sprintf("less%d/", k)), found); less == nil {
			break
		}
		found = less
	}
	return found, err
}

// tuneWithout takes its variance from the row that needs it least, and tunes. It returns nil, and w has the rows
// as before, if the sum of the objective and the prior grows.
func tuneWithout(ctx context.Context, w *tuning.Workplace, log *journal.Journal, found *hyperopt.Result) (*hyperopt.Result, error) {
	before := w.Job.Sample
	rows, _ := before.OutlyingRows()
	if len(rows) == 0 {
		return nil, nil
	}
	var next *hyperopt.Result
	tried, err := moveRows(ctx, w, found.X, worthTrying, withoutWeakest, log.Sequence("rows"))
	if tried && err == nil {
		next, err = hyperopt.Tune(ctx, warm{w, found.X}, stepSettings(w.Job.Settings(w.Backends[0]), true, false), log)
	}
	freed := pursuit.NegLogPrior(len(rows), w.Rows()) - pursuit.NegLogPrior(len(rows)-1, w.Rows())
	if next != nil && err == nil && next.F <= found.F+freed {
		add(next, found)
		return next, nil
	}
	if tried {
		w.Move(before)
	}
	found.Total.Add(searchCost)
	found.FullSize.Add(searchCost)
	if next != nil {
		found.Total.Add(next.Total)
		found.FullSize.Add(next.FullSize)
	}
	if _, undefined := descent.Undefined(err); undefined {
		err = nil
	}
	return nil, err
}

// tuneForward tunes until no more rows are found.
func tuneForward(ctx context.Context, w *tuning.Workplace, log *journal.Journal, found *hyperopt.Result) (*hyperopt.Result, error) {
	settings, settled := w.Job.Settings(w.Backends[0]), found != nil && found.Status.Converged()
	for k := range mostSearches {
		part, z, first := log.Part(fmt.Sprintf("robust%d/", k)), w.Job.Params.Start(), found == nil
		if !first {
			z = found.X
		}
		more, err := searchRows(ctx, w, z, worthSearch, part.Sequence("rows"))
		if err != nil || settled && !more {
			return found, err
		}
		next, err := hyperopt.Tune(ctx, stepOf(w, found), stepSettings(settings, !first, more), part)
		if next == nil {
			return found, err
		}
		add(next, found)
		if next.X == nil && found != nil { // interrupted before the first value
			next.X = found.X
		}
		if found = next; err != nil || !first && !more {
			return found, err
		}
		settled = first
	}
	return found, nil
}

// stepOf returns what to tune after a result, or at first if it is nil.
func stepOf(w *tuning.Workplace, found *hyperopt.Result) hyperopt.Problem {
	if found == nil {
		return w
	}
	return warm{w, found.X}
}

// stepSettings returns the settings of the first step, of one that continues, and of the last.
func stepSettings(s hyperopt.Settings, continues, more bool) hyperopt.Settings {
	if !continues {
		return s
	}
	s.Coarse, s.Restarts, s.Metric = hyperopt.CoarseOff, 0, nil
	if more && s.ToleranceNats == 0 {
		s.ToleranceNats = looseNats
	}
	return s
}

// searchCost is the number of evaluations that a search for rows counts as, because it takes as long.
var searchCost = descent.Evaluations{Value: 1, Gradient: 1}

// add adds the search for rows before a step to its counts, and what the step before found: counts,
// stages, warnings, and starts.
func add(r, before *hyperopt.Result) {
	r.Total.Add(searchCost)
	r.FullSize.Add(searchCost)
	if before == nil {
		return
	}
	r.Total.Add(before.Total)
	r.FullSize.Add(before.FullSize)
	for i := range r.Path {
		r.Path[i].Step = robustStep
	}
	r.Path, r.Warnings = slices.Concat(before.Path, r.Path), slices.Concat(before.Warnings, r.Warnings)
	r.Subsets, r.Plain = before.Subsets, before.Plain
	if len(r.Optima) == 0 || len(before.Optima) == 0 {
		return
	}
	best, from := &r.Optima[0], before.Optima[0]
	best.Starts, best.Drawn = from.Starts, from.Drawn
	best.Evaluations.Add(from.Evaluations)
	for _, o := range before.Optima[1:] {
		o.Dropped = true // its value does not count the rows found since
		r.Optima = append(r.Optima, o)
	}
}

// warm is a workplace whose tuning starts at z alone.
type warm struct {
	*tuning.Workplace
	z []float64
}

func (p warm) Parameters() []descent.Parameter {
	list := p.Workplace.Parameters()
	for i := range list {
		list[i].Start = list[i].Natural(p.z[i])
	}
	return list
}

func (p warm) Starts() ([][]float64, int) { return nil, 0 }

// searchRows moves w to the noise variances of rows that are best at z if they gain enough. The
// log has them after an interruption.
func searchRows(ctx context.Context, w *tuning.Workplace, z []float64, worth float64, log *journal.Sequence) (more bool, err error) {
	return moveRows(ctx, w, z, worth, pursue, log)
}

// finder writes noise variances of rows at z, and after them the gain.
type finder func(ctx context.Context, s *tuning.Placement, z, found []float64) error

// moveRows moves w to the noise variances of rows that find finds if they gain enough.
func moveRows(ctx context.Context, w *tuning.Workplace, z []float64, worth float64, find finder, log *journal.Sequence) (more bool, err error) {
	n := w.Rows()
	found := make([]float64, n+1)
	replayed, err := log.ReplayMatrix(z, found)
	if !replayed && err == nil {
		if err = find.at(ctx, w, z, found); err == nil {
			err = log.RecordMatrix(z, found)
		}
	}
	if more = err == nil && found[n] >= worth; more {
		w.Move(w.Job.Sample.WithOutlying(found[:n]))
	}
	return more, err
}

// at finds variances on a session of w.
func (find finder) at(ctx context.Context, w *tuning.Workplace, z, found []float64) error {
	if len(w.Full) == 0 { // tuning opens its own session, after its stages on fewer rows
		open, err := w.Open(ctx, 0, matrixrows.All(w.Rows()))
		if err != nil {
			return err
		}
		defer open.Close()
		return find(ctx, open.(*tuning.Placement), z, found)
	}
	return find(ctx, w.Full[0], z, found)
}

// pursue finds the variances that are best.
func pursue(ctx context.Context, s *tuning.Placement, z, found []float64) error {
	n, from := s.Job.N(), s.Job.Sample
	copy(found, from.Outlying)
	f, err := descent.NewOracle(s, nil).Value(ctx, z)
	if err != nil || math.IsInf(f, 1) {
		return err // tuning says what is wrong with the start values
	}
	if err := s.Objective.Restore(ctx); err != nil {
		return err
	}
	inverse, err := device.Capability[device.InverseDiagonal](s.Workspace, "the diagonal of the inverse, which option robust needs")
	if err != nil {
		return err
	}
	kappa := make([]float64, n)
	if err := inverse.InverseDiagonal(ctx, kappa); err != nil {
		return err
	}
	_, _, alpha := s.Objective.Theta()
	var rows []int
	for i, k := range kappa {
		a := 0.0
		for t := range from.T() {
			a += alpha[t*n+i] * alpha[t*n+i]
		}
		if found[i] > 0 || pursuit.Gain(k, k, a, from.T()) >= worthRow {
			rows = append(rows, i)
		}
	}
	r, err := candidates(ctx, s, rows)
	if err != nil || len(rows) == 0 {
		return err
	}
	found[n] = r.Pursue()
	matrixrows.Put(found[:n], r.Variance, rows, n)
	return nil
}

// withoutWeakest finds the variances that rows have without the row that needs its own least.
func withoutWeakest(ctx context.Context, s *tuning.Placement, z, found []float64) error {
	n, from := s.Job.N(), s.Job.Sample
	copy(found, from.Outlying)
	found[n] = -math.MaxFloat64
	f, err := descent.NewOracle(s, nil).Value(ctx, z)
	if err != nil || math.IsInf(f, 1) {
		return err
	}
	rows, _ := from.OutlyingRows()
	r, err := candidates(ctx, s, rows)
	if err != nil {
		return err
	}
	if k, gain := r.Weakest(); !math.IsInf(gain, -1) {
		found[rows[k]], found[n] = 0, gain
	}
	return nil
}

// candidates returns what the search needs of some rows at the session's last point.
func candidates(ctx context.Context, s *tuning.Placement, rows []int) (*pursuit.Suspects, error) {
	n, m, from := s.Job.N(), len(rows), s.Job.Sample
	r := &pursuit.Suspects{N: n, Inverse: make([]float64, 0, m*m), Variance: make([]float64, m)}
	if from.Outlying != nil {
		r.Variance = matrixrows.Values(from.Outlying, rows)
	}
	if err := s.Objective.Restore(ctx); err != nil {
		return nil, err
	}
	_, _, alpha := s.Objective.Theta()
	for t := range from.T() {
		r.Alpha = append(r.Alpha, matrixrows.Values(alpha[t*n:(t+1)*n], rows))
	}
	for first := 0; first < m; first += columnsAtOnce {
		some := rows[first:min(first+columnsAtOnce, m)]
		columns := make([]float64, n*len(some))
		for k, i := range some {
			columns[k*n+i] = 1
		}
		if err := s.Workspace.Solve(ctx, columns, len(some)); err != nil {
			return nil, err
		}
		for k := range some {
			r.Inverse = append(r.Inverse, matrixrows.Values(columns[k*n:(k+1)*n], rows)...)
		}
	}
	r.Projected = r.Inverse
	if basis := s.Job.Model.Basis; len(basis) > 0 && !s.Job.Model.MeanFree {
		return r, project(ctx, s, basis, rows, r)
	}
	return r, nil
}

// columnsAtOnce is the number of columns of the inverse that are computed together.
const columnsAtOnce = 256

// project subtracts from the projected block what the mean's least squares take.
func project(ctx context.Context, s *tuning.Placement, basis mean.Basis, rows []int, r *pursuit.Suspects) error {
	n, m, q := s.Job.N(), len(rows), len(basis)
	h := basis.Evaluate(s.Job.Sample.Points)
	solved := slices.Clone(h)
	if err := s.Workspace.Solve(ctx, solved, q); err != nil {
		return err
	}
	gls, err := mean.NewGLS(h, solved, n)
	if err != nil {
		return err
	}
	white := make([]float64, m*q)
	for k := range q {
		for i, row := range rows {
			white[i*q+k] = solved[k*n+row]
		}
	}
	gls.Whiten(white)
	r.Projected = slices.Clone(r.Inverse)
	for i := range m {
		for k := range m {
			for c := range q {
				r.Projected[i*m+k] -= white[i*q+c] * white[k*q+c]
			}
		}
	}
	return nil
}

// foldRows moves w to the rows of its own that do not fit at z, or after a fit that starts at z, and
// returns the parameters. Held-out rows have no part in that.
func foldRows(ctx context.Context, w *tuning.Workplace, z []float64, refit bool) ([]float64, error) {
	if !refit {
		_, err := searchRows(ctx, w, z, worthSearch, nil)
		return z, err
	}
	w.Job = w.Job.With(func(*problem.Prepared) {})
	w.Job.Events.OnIteration = nil
	from := &hyperopt.Result{}
	from.X = z
	r, err := tuneRobust(ctx, w, nil, from)
	if err != nil {
		return nil, err
	}
	return r.X, nil
}

// robustReport lists the outlying rows at the session's last point; nil without the option.
func robustReport(ctx context.Context, s *tuning.Placement, z []float64) (*summary.RobustReport, error) {
	from := s.Job.Sample
	if !s.Job.Options.Robust {
		return nil, nil
	}
	rows, _ := from.OutlyingRows()
	r, err := candidates(ctx, s, rows)
	if err != nil {
		return nil, err
	}
	out := &summary.RobustReport{NegLogPrior: pursuit.NegLogPrior(len(rows), from.N()), Share: pursuit.Share(len(rows), from.N()), Rows: []summary.OutlyingRow{}}
	numbers := from.RowNumbers()
	noise, _ := estimatedNoise(s.Job.Prepared, nil, z) // a part of the difference, which cancels if the row is very far off
	for k, i := range rows {
		row := summary.OutlyingRow{Row: i, NoiseVariance: r.Variance[k]}
		if numbers != nil {
			row.Row = int(numbers[i])
		}
		kappa := r.Projected[k*len(rows)+k]
		for _, alpha := range r.Alpha {
			row.Deviations = append(row.Deviations, alpha[k]/kappa/math.Sqrt(max(1/kappa-r.Variance[k], noise)))
		}
		out.Rows, out.NoiseVariance = append(out.Rows, row), out.NoiseVariance+row.NoiseVariance/float64(len(rows))
	}
	return out, nil
}

// estimatedNoise returns the largest estimated noise variance at z, −1 without one, and
// whether it is at its lower bound.
func estimatedNoise(j *problem.Prepared, at []descent.Bound, z []float64) (noise float64, bounded bool) {
	noise = -1
	values := j.Params.Values(z)
	for i, e := range j.Params.All {
		if e.Group == graph.NoiseVariance && values[i] > noise && !j.Params.Free[e.Index].Fixed {
			noise, bounded = values[i], false
			for _, b := range at {
				bounded = bounded || b.Index == e.Index && b.Side == descent.Lower
			}
		}
	}
	return noise, bounded
}
