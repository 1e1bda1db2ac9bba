package compare

import (
	"context"
	"errors"
	"time"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
)

// The values of Trial.Status and Ranked.Status.
const (
	Done   = "done"
	Failed = "failed"
	// Unfinished means that an interruption came first.
	Unfinished = "unfinished"
)

// Trial is one fit of one method, with its scores on the held-out rows of its fold in
// original units. Pointers are nil without such a score.
type Trial struct {
	Method string `json:"method"`
	// Fold counts from 1. Train and Test count its rows.
	Fold  int `json:"fold"`
	Train int `json:"n_train"`
	Test  int `json:"n_test"`
	// Size is the requested number of training rows, 0 for all.
	Size       int      `json:"size"`
	Status     string   `json:"status"`
	Error      string   `json:"error,omitempty"`
	RMSE       *float64 `json:"rmse"`
	NLPD       *float64 `json:"nlpd"`
	Coverage95 *float64 `json:"coverage95"`
	// TrainingRMSE is the error on the rows that the method learned from.
	TrainingRMSE   *float64 `json:"training_rmse"`
	FitSeconds     float64  `json:"fit_seconds"`
	PredictSeconds float64  `json:"predict_seconds"`
	// Parameters are the values that the fit chose, by name, for the scaled table: the penalty lambda,
	// for example, or the parameters of a Gaussian process.
	Parameters map[string]float64 `json:"parameters,omitempty"`

	rows     rowScores
	warnings []string
}

// Ranked is a method with its scores over all folds together, in original units and in units
// of the targets' standard deviation. Pointers are nil without such a score.
type Ranked struct {
	// Rank counts from 1; 0 means that the method has no score.
	Rank   int    `json:"rank"`
	Method string `json:"method"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	// Folds and Rows count what the scores are from.
	Folds            int      `json:"folds"`
	Rows             int      `json:"n_test"`
	RMSE             *float64 `json:"rmse"`
	RMSEStandardized *float64 `json:"rmse_standardized"`
	NLPD             *float64 `json:"nlpd"`
	NLPDStandardized *float64 `json:"nlpd_standardized"`
	Coverage95       *float64 `json:"coverage95"`
	// TrainingRMSE is the error on the rows that the fits learned from, all folds together.
	TrainingRMSE *float64 `json:"training_rmse"`
	// Difference compares the deciding score with the best method's; nil for the best method
	// and without a score.
	Difference *Difference `json:"difference"`
	// The seconds are sums over the folds.
	FitSeconds     float64 `json:"fit_seconds"`
	PredictSeconds float64 `json:"predict_seconds"`

	rows rowScores
}

// Difference is the score of a method minus the best method's, on the same rows.
// Positive numbers mean that the method is worse.
type Difference struct {
	Value float64 `json:"value"`
	// StdError is the standard error of Value, and Lower95 and Upper95 bound its 95 %
	// interval by Student's t; nil if there are too few folds, groups or rows for one.
	StdError *float64 `json:"std_error"`
	Lower95  *float64 `json:"lower95"`
	Upper95  *float64 `json:"upper95"`
	// Better and Worse count the folds, or with one hold-out the rows, in which the method
	// is better or worse than the best method; Equal counts the others.
	Better int `json:"better"`
	Worse  int `json:"worse"`
	Equal  int `json:"equal"`
}

func (t *Trial) done() bool { return t.Status == Done }

// rowScores holds the errors of held-out rows and, unless the method has no density, the
// negative log densities and whether the target is in its 95 % interval.
type rowScores struct {
	misses, densities []float64
	inside            []bool
}

// newRowScores scores predictions of the targets y.
func newRowScores(p *gp.Prediction, y []float64) (rowScores, error) {
	var s rowScores
	for i, v := range y {
		diff := v - p.Mean[i]
		if summary.Finite(diff*diff) == nil {
			return s, errors.New("a prediction is not a finite number, or its square is not")
		}
		s.misses = append(s.misses, diff)
		if p.Std == nil {
			continue
		}
		if !(p.Std[i] >= 0) {
			return s, errors.New("the variance of a prediction is negative or not a number")
		}
		s.densities = append(s.densities, p.Density(i).NegLog(v))
		s.inside = append(s.inside, v >= p.Lower95[i] && v <= p.Upper95[i])
	}
	return s, nil
}

// add appends the scores of other rows.
func (s *rowScores) add(o rowScores) {
	s.misses = append(s.misses, o.misses...)
	s.densities = append(s.densities, o.densities...)
	s.inside = append(s.inside, o.inside...)
}

// scores returns the scores of all rows together, nil if they are undefined.
func (s *rowScores) scores() (rmse, nlpd, coverage *float64) {
	var sum score.Tally
	for i, miss := range s.misses {
		if s.densities == nil {
			sum.Add(miss, 0)
			continue
		}
		sum.Add(miss, s.densities[i], s.inside[i])
	}
	if s.densities != nil {
		nlpd, coverage = summary.Finite(sum.NLPD()), summary.Finite(sum.Coverage(0))
	}
	return summary.Finite(sum.RMSE()), nlpd, coverage
}

// try fits a method to the training rows of data and scores it on the others. The error is
// ctx's; a failure of the method is in the trial.
func try(ctx context.Context, e entrant, data problem.Data, scaled *problem.ScaledRows) (Trial, error) {
	x, y, noise := held(data)
	t := Trial{Method: e.name, Train: data.N - len(y), Test: len(y), Status: Unfinished}
	failed := func(err error) (Trial, error) {
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		t.Status, t.Error = Failed, err.Error()
		return t, nil
	}
	began := time.Now()
	model, err := e.fit(ctx, data, scaled)
	t.FitSeconds = time.Since(began).Seconds()
	if err != nil {
		return failed(err)
	}
	defer model.close()
	t.warnings, t.Parameters = model.warnings, model.parameters
	began = time.Now()
	p, err := model.predict(ctx, x, len(y), noise)
	t.PredictSeconds = time.Since(began).Seconds()
	if err == nil {
		t.rows, err = newRowScores(p, y)
	}
	if err != nil {
		return failed(err)
	}
	if t.TrainingRMSE, err = trainingError(ctx, model, data); err != nil {
		return failed(err)
	}
	t.Status = Done
	t.RMSE, t.NLPD, t.Coverage95 = t.rows.scores()
	return t, nil
}

// trainingError is the root mean squared error on the rows that are not held out.
func trainingError(ctx context.Context, model *fitted, data problem.Data) (*float64, error) {
	d := data.Rows(matrixrows.Marked(data.Test, data.N, false))
	means, err := model.learned(ctx, d)
	if err != nil {
		return nil, err
	}
	var sum score.Tally
	for i, y := range d.Y {
		sum.Add(y-means[i], 0)
	}
	return summary.Finite(sum.RMSE()), nil
}

// held returns features, targets and noise of the held-out rows.
func held(data problem.Data) (x, y []float64, noise gp.RowNoise) {
	d := data.Rows(matrixrows.Marked(data.Test, data.N, true))
	return d.X, d.Y, gp.RowNoise{Known: d.NoiseVariance, Group: d.NoiseGroup}
}
