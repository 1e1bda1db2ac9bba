package auto

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/table/feature"
)

// additives are sums over columns that share a lengthscale and a variance.
var additives = []string{"additive(matern52)", "additive(rbf)", "additive(matern12)"}

// blend has a plane with a penalty, a smooth function of all columns, and one of each, with seven parameters for any number of columns.
const blend = "linear + rbf + additive(matern52)"

// Second is a model of all rows that explains few rows about as well as the chosen one: the blend, or the next best if the
// blend is chosen.
type Second struct {
	Job *tuning.Job
	X   []float64
}

// manyRows tell models apart, and so does a BIC that is higher by mostBehind.
const manyRows, mostBehind = 300, 100

// averages reports whether the rows are few for the parameters of a job, so that predictions average.
func (c *chooser) averages(j *tuning.Job) bool {
	return c.sample == c.job.Sample && j.N() < min(manyRows, problem.RowsByParameter*j.Params.NumFree())
}

// second returns the model to average with; nil without.
func (c *chooser) second() *Second {
	var best *tuned
	for _, m := range c.tried {
		if m.job.Sample == c.best.job.Sample && (m.Kernel == blend) != (c.best.Kernel == blend) && (best == nil || m.BIC < best.BIC) {
			best = m
		}
	}
	if best == nil || best.BIC > c.best.BIC+mostBehind || !c.averages(c.best.job) {
		return nil
	}
	return &Second{best.job, best.result.X}
}

// A sum over columns takes a covariance of each column for each pair of rows, so with more than mostAdditive columns there
// is none. Only a table of at most mostOwn numbers gets one in which each column has a lengthscale and a variance of its own:
// the Hessian of 2d parameters takes a time of d²n², and on 900 rows of 20 columns the error is only 4 % lower for 50 times it.
const (
	mostAdditive = 60
	mostOwn      = 5000
)

// termShare is the share of the variance of the best kernel with which another term begins.
const termShare = 0.2

// sums tries sums of functions of fewer columns: of each category, and of each column, with the best kernel and, if that is
// better, alone.
func (c *chooser) sums(mean string) error {
	if kernel := c.categories(); kernel != "" {
		if err := c.try(kernel, mean, map[string]float64{}); err != nil {
			return err
		}
	}
	d := c.sample.Points.D
	if d < 2 || d > mostAdditive {
		return nil
	}
	best := c.best
	if err := c.try(best.Kernel+" + "+additives[0], mean, withTerm(best.values(), best.Kernel, termShare, d)); err != nil || c.best == best {
		return err
	}
	start := lastTerm(c.best.values(), c.best.Kernel)
	for _, kernel := range additives {
		if err := c.try(kernel, mean, start); err != nil || !slices.Contains(additives, c.best.Kernel) {
			return err
		}
		start = c.best.values()
	}
	if d*c.job.N() > mostOwn {
		return nil
	}
	start["variance"] = start["signal_variance"]
	delete(start, "signal_variance")
	return c.try(strings.Replace(c.best.Kernel, ")", ", ard)", 1), mean, start)
}

// categories returns the sum of a function of each category and of one of the numbers, "" without categories.
func (c *chooser) categories() string {
	s := c.job.Sample
	if s.Data.Encoding == nil || c.few != "" {
		return ""
	}
	var terms, numbers []string
	first := 0
	for _, coding := range s.Data.Encoding.Columns {
		var dims []string
		for at := first; at < first+coding.Width(); at++ {
			if slices.Contains(s.Columns, at) {
				dims = append(dims, fmt.Sprint(at))
			}
		}
		if first += coding.Width(); coding.Kind != feature.Category {
			numbers = append(numbers, dims...)
		} else if dims != nil {
			terms = append(terms, "hamming("+dimsText(dims)+")")
		}
	}
	if terms == nil {
		return ""
	}
	if numbers != nil {
		terms = append(terms, "matern52(ard, "+dimsText(numbers)+")")
	}
	return strings.Join(terms, " + ")
}

func dimsText(dims []string) string { return "dims=[" + strings.Join(dims, ", ") + "]" }

// lastTerm returns start values of the last term of a sum from the optimum of the sum.
func lastTerm(values map[string]float64, kernel string) map[string]float64 {
	out, own := map[string]float64{}, fmt.Sprintf("k%d.", 1+strings.Count(kernel, " + "))
	for name, v := range values {
		if own, ok := strings.CutPrefix(name, own); ok || !strings.HasPrefix(name, "k") {
			out[own] = v
		}
	}
	return out
}

// withTerm returns start values of a kernel plus another term from the optimum of the former. The term has a share of its
// variance, in d equal parts.
func withTerm(values map[string]float64, kernel string, share float64, d int) map[string]float64 {
	out, own, _ := inSum(values, kernel)
	own += "signal_variance"
	for _, name := range slices.Sorted(maps.Keys(out)) { // in order, for the bits of the sum
		if v := out[name]; strings.HasSuffix(name, "signal_variance") {
			out[name] = (1 - share) * v
			out[own] += share * v / float64(d)
		}
	}
	return out
}

// inSum returns the parameters of a kernel under their names in a sum with one more term, the prefix of the names of that term,
// and the largest signal variance.
func inSum(values map[string]float64, kernel string) (out map[string]float64, own string, variance float64) {
	terms, prefix := 1+strings.Count(kernel, " + "), ""
	if terms == 1 {
		prefix = "k1."
	}
	out = map[string]float64{}
	for name, v := range values {
		if strings.HasSuffix(name, "signal_variance") {
			variance = max(variance, v)
		}
		if strings.HasPrefix(name, "signal_variance") || strings.HasPrefix(name, "lengthscale") {
			name = prefix + name
		}
		out[name] = v
	}
	return out, fmt.Sprintf("k%d.", terms+1), variance
}
