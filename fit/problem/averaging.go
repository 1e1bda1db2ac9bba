package problem

import "fmt"

// RowsByParameter is the number of training rows for each free parameter from which on the data
// determine the parameters well enough to predict with only the optimum. On tables of 200 rows and 20
// to 29 for each parameter its 95 % intervals hold 91.5 %, with draws 94.3; benchmarks/posterior.
const RowsByParameter = 30

// MostDrawn is the largest number of free parameters of which there are draws: their covariance is a
// matrix of as many rows.
const MostDrawn = 500

// averages returns what option posterior auto means for a problem, and what a report says of it: "" if
// there is nothing to say.
func averages(o Options, rows int, p *ParameterList) (PosteriorMethod, string) {
	free := p.NumFree()
	switch counts := fmt.Sprintf("%d rows, free parameters: %d", rows, free); {
	case o.Posterior != AutoPosterior:
		return o.Posterior, ""
	case rows >= RowsByParameter*free:
		return "", ""
	case free > MostDrawn:
		return "", fmt.Sprintf("of the parameters found (%s): there are draws of at most %d parameters", counts, MostDrawn)
	case o.Experts != "":
		return "", fmt.Sprintf("of the parameters found (%s): local experts take no draws of them by default", counts)
	case o.Objective != NLML:
		return "", fmt.Sprintf("of the parameters found (%s): draws of them need the objective nlml", counts)
	default:
		return AutoPosterior, counts
	}
}
