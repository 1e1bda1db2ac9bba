package shrinkage

import (
	"fmt"
	"math"
	"strings"

	"gpfit/fit/columns"
	"gpfit/fit/fields"
	"gpfit/internal/each"
	"gpfit/internal/textform"
)

// Text returns the path for people: the model with the best λ, and where columns enter.
func (r *Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "path of %s: %d rows, %s, target %s; %s from %.4g to %.4g\n\n",
		r.Penalty, r.N, textform.Counted(len(r.Features), "column"), r.Target, textform.Counted(len(r.Lambdas), "penalty", "penalties"), r.Lambdas[0], r.Lambdas[len(r.Lambdas)-1])
	best := len(r.Lambdas) - 1
	why := "the smallest penalty, because no validation error is known"
	if r.Best != nil {
		best = *r.Best
		why = "the smallest error by " + r.Validated
		if r.NValidation > 0 {
			why = fmt.Sprintf("the smallest error on %s", textform.Counted(r.NValidation, "held-out row"))
		}
	}
	fmt.Fprintf(&b, "lambda             %.6g, %s\n", r.Lambdas[best], why)
	fmt.Fprintf(&b, "training RMSE      %s\nvalidation RMSE    %s\ndegrees of freedom %.4g\nintercept          %.6g\n\n",
		textform.Optional(r.Training[best], "%.6g"), textform.Optional(r.Validation[best], "%.6g"), r.Freedom[best], r.Intercepts[best])
	t := fields.Table{Flush: true, Heads: []fields.Head{{Text: "column", Left: true}, {Text: "weight", Left: true}, {Text: "standardized", Left: true}}}
	for c, name := range r.Features {
		t.Add(name, fmt.Sprintf("%.6g", r.Weights[best][c]), fmt.Sprintf("%.4g", r.Standardized[best][c]))
	}
	if r.Penalty == Lasso {
		t.Column(fields.Head{Text: "enters at lambda", Left: true}, r.entry)
	}
	return b.String() + t.Text()
}

// entry is the largest λ at which the weight of a column is not 0.
func (r *Result) entry(c int) string {
	for i, w := range r.Weights {
		if w[c] != 0 {
			return fmt.Sprintf("%.4g", r.Lambdas[i])
		}
	}
	return "-"
}

// Encode writes a row for each λ: the errors, the intercept, and the weight of each column in original units
// and in standard deviations.
func (r *Result) Encode(e columns.BlockEncoder) error {
	b := columns.Block{
		Names:   []string{"lambda", "degrees_of_freedom", "training_rmse", "validation_rmse", "intercept"},
		Numbers: [][]float64{r.Lambdas, r.Freedom, OrNaN(r.Training), OrNaN(r.Validation), r.Intercepts}, N: len(r.Lambdas),
	}
	for _, kind := range []struct {
		name    string
		weights [][]float64
	}{{"weight", r.Weights}, {"standardized", r.Standardized}} {
		for c, name := range r.Features {
			b.Names, b.Numbers = append(b.Names, kind.name+"["+name+"]"), append(b.Numbers, Along(kind.weights, c))
		}
	}
	if err := e.Encode(&b); err != nil {
		return err
	}
	return e.End()
}

// Along returns the weight of a column for every λ.
func Along(weights [][]float64, c int) []float64 {
	return each.Of(weights, func(w []float64) float64 { return w[c] })
}

// OrNaN returns numbers, with the NaN of a blank cell where there is none.
func OrNaN(values []*float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if out[i] = math.NaN(); v != nil {
			out[i] = *v
		}
	}
	return out
}
