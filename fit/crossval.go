package fit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/hyperopt"
)

// DefaultFolds is the number of folds of a cross-validation.
const DefaultFolds = 10

// CrossValidation says how to cross-validate. The zero value has ten folds at
// the given parameters.
type CrossValidation struct {
	// Folds is the number of parts K, from 2 to the number of rows; 0 means
	// DefaultFolds, or the number of rows if that is less.
	Folds int
	// Seed of the assignment of rows to folds; 0 is a seed like any other.
	Seed uint64
	// Refit tunes the parameters on the rest of every fold, from the given ones.
	Refit bool
	// OnFold, unless nil, is called before each fold with its number, from 0.
	OnFold func(fold, folds int)
}

func (cv CrossValidation) folds(n int) int {
	if cv.Folds == 0 {
		return min(DefaultFolds, n)
	}
	return cv.Folds
}

// Check returns an [*OptionError] if n rows cannot be dealt to so many folds.
func (cv CrossValidation) Check(n int) error {
	if k := cv.folds(n); k < 2 || k > n || n-(n+k-1)/k < 2 {
		return optionErrorf("%d folds of %d rows: needs at least 2 folds, no more than rows, and 2 rows outside of each", k, n)
	}
	return nil
}

// CrossValidationScores are scores of rows that were predicted from the other
// folds, in original units and in units of the standard deviation of all
// training targets.
type CrossValidationScores struct {
	Folds []FoldScores `json:"folds"`
	Seed  uint64       `json:"seed"`
	Refit bool         `json:"refit"`
	// NLPD is the mean negative log predictive density over all rows, RMSE the
	// root of the mean squared error, Coverage95 the share of rows in their 95 %
	// interval. Over several targets these are means as well, without RMSE:
	// their units differ. Targets then has them for each.
	NLPD             float64 `json:"nlpd"`
	NLPDStandardized float64 `json:"nlpd_standardized"`
	RMSE             float64 `json:"rmse,omitempty"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	Coverage95       float64 `json:"coverage95"`
	// NLPDStdError is the standard error of NLPD, from its spread over folds.
	NLPDStdError float64        `json:"nlpd_std_error"`
	Targets      []TargetScores `json:"targets,omitempty"`
	// Warnings tell of folds that departed from what was asked: a jitter that
	// was added, a device that was exchanged. CrossValidate's callers pass them on.
	Warnings []string `json:"-"`
}

// TargetScores are those of one of several targets; see CrossValidationScores.
type TargetScores struct {
	Name             string  `json:"name"`
	NLPD             float64 `json:"nlpd"`
	NLPDStandardized float64 `json:"nlpd_standardized"`
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	Coverage95       float64 `json:"coverage95"`
	NLPDStdError     float64 `json:"nlpd_std_error"`
}

// FoldScores are those of one fold, in original units; of several targets, means
// over them, without RMSE.
type FoldScores struct {
	// N is the number of rows that were held out.
	N    int     `json:"n"`
	NLPD float64 `json:"nlpd"`
	RMSE float64 `json:"rmse,omitempty"`
	// Coverage95 is as in CrossValidationScores.
	Coverage95 float64 `json:"coverage95"`
	// Parameters are those refitted, natural values of the scaled problem.
	Parameters map[string]float64 `json:"parameters,omitempty"`
	tests      []*TestScores      // of each target
	warnings   []string
}

// CrossValidate scores a task's model by K-fold cross-validation (Rasmussen &
// Williams 2006, §5.3) at the given parameters: natural values of the scaled
// problem by name, as in a report; nil means the start values. Scaling and
// bounds stay those of all training rows. The folds are a random partition that
// depends on the seed, on K and on the number of rows; their sizes differ by one
// at most. One workspace is open at a time. Cost K·(n(1−1/K))³/3 operations, and
// the fits if asked for. Errors: [*OptionError] for a number of folds that the
// rows do not allow, and those of evaluations.
func CrossValidate(ctx context.Context, t *Task, b device.Backend, parameters map[string]float64, cv CrossValidation) (*CrossValidationScores, error) {
	n := t.N()
	if err := cv.Check(n); err != nil {
		return nil, err
	}
	cv.Folds = cv.folds(n)
	z, err := t.zOf(parameters)
	if err != nil {
		return nil, err
	}
	out := &CrossValidationScores{Seed: cv.Seed, Refit: cv.Refit}
	for k, held := range foldRows(n, cv.Folds, cv.Seed) {
		if cv.OnFold != nil {
			cv.OnFold(k, cv.Folds)
		}
		scores, err := t.without(held).scoreFold(ctx, b, z, cv.Refit)
		if err != nil {
			return nil, fmt.Errorf("fold %d of %d: %w", k+1, cv.Folds, err)
		}
		for _, w := range scores.warnings {
			out.Warnings = append(out.Warnings, fmt.Sprintf("fold %d of the cross-validation: %s", k+1, w))
		}
		out.Folds = append(out.Folds, *scores)
	}
	var names []string
	var scales []float64
	for i := range t.data.t() {
		names, scales = append(names, t.data.targetName(i)), append(scales, t.targetScale(i))
	}
	out.pool(n, names, scales)
	return out, nil
}

// foldRows deals rows, shuffled, to folds; each is sorted.
func foldRows(n, folds int, seed uint64) [][]int {
	rows := rand.New(rand.NewPCG(seed, uint64(folds))).Perm(n)
	parts := make([][]int, folds)
	for i, row := range rows {
		parts[i%folds] = append(parts[i%folds], row)
	}
	for _, p := range parts {
		slices.Sort(p)
	}
	return parts
}

// zOf is the objective's vector at the given natural values.
func (t *Task) zOf(parameters map[string]float64) ([]float64, error) {
	z := t.startZ()
	if parameters == nil {
		return z, nil
	}
	for i, p := range t.params {
		v, ok := parameters[p.name]
		if !ok || p.isLog && !(v > 0) || v-v != 0 {
			return nil, optionErrorf("there is no usable value of %s: %v", p.name, v)
		}
		z[i] = p.toZ(v)
	}
	return z, nil
}

// without returns the task of the training rows that are not held out; those
// are its test rows. The scaling stays.
func (t *Task) without(held []int) *Task {
	var rest []int
	for i := range t.N() {
		if _, out := slices.BinarySearch(held, i); !out {
			rest = append(rest, i)
		}
	}
	s, d := t.withRows(rest), t.data
	rows := pick(t.rows, held, len(t.rows), 1)
	s.testX, s.testY = pick(d.X, rows, d.N, d.D), pick(d.Y, rows, d.N, 1)
	s.testNoise = gp.RowNoise{Known: pick(d.NoiseVariance, rows, d.N, 1), Group: pick(d.NoiseGroup, rows, d.N, 1)}
	return s
}

// scoreFold scores the held-out rows at z, or after a fit that starts there.
func (t *Task) scoreFold(ctx context.Context, b device.Backend, z []float64, refit bool) (*FoldScores, error) {
	s, err := t.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f := &FoldScores{N: len(t.testY) / t.data.t()}
	if refit {
		for i := range t.params {
			t.params[i].start = t.params[i].natural(z[i])
		}
		settings := t.settings()
		settings.Restarts, settings.Callback = 0, nil
		r, err := hyperopt.Minimize(ctx, t.problem([]*session{s}), settings)
		if err != nil {
			return nil, err
		}
		z = r.X
		f.Parameters = map[string]float64{}
		for i, v := range t.values(z) {
			f.Parameters[t.elements[i].name] = v
		}
	}
	if _, err := s.Value(ctx, z); err != nil {
		return nil, err
	}
	out := &Outcome{Model: t.model(s.obj, &hyperopt.Result{X: z})}
	out.Report.Targets = make([]TargetReport, t.data.t())
	if out.posterior, err = out.Model.Attach(s.ws); err != nil {
		return nil, err
	}
	if err := t.score(ctx, out); err != nil {
		return nil, err
	}
	f.tests = []*TestScores{out.Report.Test}
	if t.data.t() > 1 {
		f.tests = nil
		for _, p := range out.Report.Targets {
			f.tests = append(f.tests, p.Test)
		}
	} else {
		f.RMSE = out.Report.Test.RMSE
	}
	for _, test := range f.tests {
		f.NLPD += test.NLPD / float64(len(f.tests))
		f.Coverage95 += test.Coverage95 / float64(len(f.tests))
	}
	f.warnings = s.warnings
	if jitter := s.obj.Terms().Jitter; jitter > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("a jitter of %.3g was added to the diagonal, as --max-jitter allows", jitter))
	}
	return f, nil
}

// pool averages over all n rows, for targets of these names and standard
// deviations.
func (s *CrossValidationScores) pool(n int, names []string, scales []float64) {
	var parts []TargetScores
	for i, scale := range scales {
		p := TargetScores{Name: names[i]}
		nlpd := make([]float64, len(s.Folds))
		for k, f := range s.Folds {
			w, test := float64(f.N)/float64(n), f.tests[i]
			p.NLPD += w * test.NLPD
			p.RMSE += w * test.RMSE * test.RMSE
			p.Coverage95 += w * test.Coverage95
			nlpd[k] = test.NLPD
		}
		p.RMSE = math.Sqrt(p.RMSE)
		p.RMSEStandardized, p.NLPDStandardized = p.RMSE/scale, p.NLPD-math.Log(scale)
		p.NLPDStdError = foldError(nlpd, p.NLPD)
		parts = append(parts, p)
	}
	t := float64(len(parts))
	for _, p := range parts {
		s.NLPD += p.NLPD / t
		s.NLPDStandardized += p.NLPDStandardized / t
		s.RMSEStandardized += p.RMSEStandardized * p.RMSEStandardized / t
		s.Coverage95 += p.Coverage95 / t
	}
	s.RMSEStandardized = math.Sqrt(s.RMSEStandardized)
	nlpd := make([]float64, len(s.Folds))
	for k := range s.Folds {
		nlpd[k] = s.Folds[k].NLPD
	}
	s.NLPDStdError = foldError(nlpd, s.NLPD)
	if len(parts) == 1 {
		s.RMSE = parts[0].RMSE
	} else {
		s.Targets = parts
	}
}

// foldError is the standard error of a mean over folds, from its spread over
// them.
func foldError(folds []float64, mean float64) float64 {
	spread := 0.0
	for _, v := range folds {
		spread += (v - mean) * (v - mean)
	}
	k := float64(len(folds))
	return math.Sqrt(spread / (k * (k - 1)))
}
