package fit

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/must"
)

// TestScoresWithoutVariance checks a held-out row that repeats a training row and is
// therefore known exactly without noise. Its density is not finite: JSON has null,
// which is read back as NaN. All other numbers survive.
func TestScoresWithoutVariance(t *testing.T) {
	exact := &gp.Prediction{Mean: []float64{1, 2}, Std: []float64{0, 0.5}, Lower95: []float64{1, 1}, Upper95: []float64{1, 3}}
	for _, c := range []struct {
		y    []float64
		nlpd float64
	}{{[]float64{1, 2}, math.Inf(-1)}, {[]float64{1.5, 2}, math.Inf(1)}} {
		s := newTestScores(exact, c.y, 2)
		if float64(s.NLPD) != c.nlpd {
			t.Errorf("targets %v: NLPD %v, want %v", c.y, float64(s.NLPD), c.nlpd)
		}
		text, err := json.Marshal(summary.Report{Test: s})
		if err != nil || !strings.Contains(string(text), `"nlpd":null,"nlpd_standardized":null`) || !strings.Contains(string(text), `"rmse":`) {
			t.Errorf("%s, %v", text, err)
		}
		var back summary.Report
		if err := json.Unmarshal(text, &back); err != nil || back.Test.RMSE != s.RMSE || !math.IsNaN(float64(back.Test.NLPD)) {
			t.Errorf("read back: %+v, %v", back.Test, err)
		}
	}
	finite := newTestScores(exact, []float64{1, 2}, 1)
	finite.NLPD, finite.NLPDStandardized = 0.25, 0.5
	text, err := json.Marshal(finite)
	var back summary.TestScores
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back != *finite {
		t.Errorf("%s read back as %+v, %v", text, back, err)
	}
	// A whole cross-validation of a table that contains each row twice.
	d := synthetic(12)
	d.X, d.Y, d.N = append(d.X, d.X...), append(d.Y, d.Y...), 24
	o := problem.Options{NoNoise: true, MaxJitter: 1e-4, Kernel: "matern12"}
	cv := must.Get(CrossValidate(context.Background(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 4}))(t)
	if _, err := json.Marshal(summary.Scores{CrossValidation: cv}); err != nil {
		t.Error(err)
	}
}
