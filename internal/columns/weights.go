package columns

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"

	"gpfit/gp"
)

// WriteWeights writes the posterior of the weights of linear terms as CSV with a
// row for each weight, or as a JSON object that also has the covariances.
func WriteWeights(w io.Writer, asJSON bool, weights []gp.Weights) error {
	if asJSON {
		terms := make([]map[string]any, len(weights))
		for i, t := range weights {
			terms[i] = map[string]any{
				"path": t.Path, "kernel": t.Text, "features": t.Names, "mean": t.Mean, "prior_variance": t.PriorVariance,
				"covariance": slices.Collect(slices.Chunk(t.Cov, len(t.Mean))),
			}
		}
		return json.NewEncoder(w).Encode(map[string]any{"type": "weights", "schema_version": 1, "terms": terms})
	}
	lines := [][]string{{"term", "feature", "mean", "std", "prior_std"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, t := range weights {
		for i, name := range t.Names {
			// Rounding can make the variance slightly negative.
			std := math.Sqrt(max(t.Cov[i*len(t.Names)+i], 0))
			lines = append(lines, []string{t.Path, name, number(t.Mean[i]), number(std), number(math.Sqrt(t.PriorVariance[i]))})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}
