package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/matrixrows"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/mean"
)

// flatFrom is how many times the range of a column a lengthscale is that has no effect.
const flatFrom = 1000

// noEffect says what a column has no effect beyond if its lengthscales have none.
func noEffect(j *tuning.Job, c int) string {
	for _, f := range j.Model.Basis {
		if f.Group != mean.Constant && f.Column == c {
			return "no effect beyond the " + j.MeanText() + " mean"
		}
	}
	return "no effect by its lengthscale"
}

// relevance returns the columns in use, most relevant first; nil if their relevance is
// not known or not a finite number.
func relevance(ctx context.Context, j *tuning.Job, threads int, p *gp.Posterior, values []float64) ([]summary.ColumnRelevance, error) {
	scores, err := p.Relevance(ctx, threads)
	if err != nil || scores == nil || slices.ContainsFunc(scores, problem.NotFinite) {
		return nil, err
	}
	s := j.Sample
	out := make([]summary.ColumnRelevance, len(scores))
	for c, score := range scores {
		feature := s.Columns[c]
		out[c] = summary.ColumnRelevance{Column: s.Data.FeatureNames[feature], Index: feature, Relevance: score}
	}
	for _, p := range j.Program().Params {
		if p.Kind != kernel.Lengthscale || p.Units.Input != 1 {
			continue
		}
		for i, c := range p.Dims {
			v := values[p.Offset]
			if p.Vector {
				v = values[p.Offset+i]
			}
			out[c].Lengthscales = append(out[c].Lengthscales, v*s.Scalings[0].XScale[c])
		}
	}
	for c := range out {
		column := s.Points.Column(c)
		width := s.Scalings[0].XScale[c] * (slices.Max(column) - slices.Min(column))
		if l := out[c].Lengthscales; len(l) > 0 && slices.Min(l) > flatFrom*width {
			out[c].NoEffect = noEffect(j, c)
		}
	}
	slices.SortStableFunc(out, func(a, b summary.ColumnRelevance) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return out, nil
}

// irrelevant is the relevance of a column, in units of the targets' standard deviation, below which
// the predictions do not depend on it for any purpose. The numbers in reports have two decimals.
const irrelevant = 0.005

// boundText collects what there is to say about parameters at bounds, so that parameters
// of the same kind share a sentence.
type boundText struct {
	columns, without, near, parts, terms, dead, alive, absent, prior, flat, lower, upper, lambda []string
}

// lambdaText says what a bound of λ means.
func lambdaText(j *problem.Prepared, b descent.Bound) string {
	p, t := j.Params.Free[b.Index], j.Sample.Scalings[0].Transform
	if t.Kind.Positive() && b.Side == descent.Lower && p.Lower == transform.LowestLambda {
		return "lambda is 0, at its lower bound: this transform is the logarithm, and option target-transform log fits it without a parameter"
	}
	at := p.Lower
	if b.Side == descent.Upper {
		at = p.Upper
	}
	return fmt.Sprintf("lambda is at its %s bound %g; from %d to %d every prediction has a mean", b.Side, at, transform.LowestLambda, transform.HighestLambda)
}

// newBoundText explains the parameters at a bound that the objective pushes outwards, by the
// tests of them. It leaves out noise variances at their lower bound if noise is false.
func newBoundText(j *problem.Prepared, at []descent.Bound, tests boundTests, relevance []summary.ColumnRelevance, noise bool) *boundText {
	t := &boundText{}
	idle := irrelevantOf(j, tests.idle(), relevance)
	for _, c := range idle {
		t.columns = append(t.columns, columnName(j, c))
	}
	for _, b := range at {
		p := j.Params.Free[b.Index]
		prior := j.Params.Priors[p.Name]
		kind, dims := scaleOf(j, b.Index)
		isScale := b.Side == descent.Upper && (kind == kernel.Lengthscale || kind == kernel.InnerScale) && len(dims) == 1
		switch {
		case p.Group == transform.Parameter:
			t.lambda = append(t.lambda, lambdaText(j, b))
		case isScale && slices.Contains(idle, dims[0]):
		case isScale && tests.near[dims[0]] < -sameNats:
			t.near = append(t.near, fmt.Sprintf("%s (%.2g nats)", p.Name, -tests.near[dims[0]]))
		case isScale && tests.without < -sameNats && slices.Contains(tests.columns, dims[0]):
			t.without = append(t.without, columnName(j, dims[0]))
		case !tests.flat(b.Index) && prior.Family == "uniform" && (b.Side == descent.Lower && p.Lower == prior.Args[0] || b.Side == descent.Upper && p.Upper == prior.Args[1]):
			t.prior = append(t.prior, fmt.Sprintf("%s is at the %s limit of its prior, %s", p.Name, b.Side, prior))
		case isScale && !p.Bounded:
			t.parts = append(t.parts, p.Name)
		case kind == kernel.Variance && b.Side == descent.Lower && ofColumn(j, b.Index):
			t.absent = append(t.absent, p.Name)
		case slices.Contains(deadTerms(j, []descent.Bound{b}), b.Index):
			switch {
			case tests.needless(b.Index):
				t.terms = append(t.terms, p.Name)
			case tests.regrown[b.Index] < -sameNats:
				t.alive = append(t.alive, fmt.Sprintf("%s (%.2g nats)", p.Name, -tests.regrown[b.Index]))
			default:
				t.dead = append(t.dead, p.Name)
			}
		case b.Side == descent.Upper && tests.flat(b.Index):
			t.flat = append(t.flat, fmt.Sprintf("%s is at its upper bound %.6g", p.Name, p.Upper))
		case b.Side == descent.Upper:
			t.upper = append(t.upper, fmt.Sprintf("%s is at its upper bound %.6g", p.Name, p.Upper))
		case p.Group == graph.NoiseVariance && !noise:
		case tests.flat(b.Index):
			t.flat = append(t.flat, fmt.Sprintf("%s is at its lower bound %.6g", p.Name, p.Lower))
		default:
			t.lower = append(t.lower, fmt.Sprintf("%s is at its lower bound %.6g", p.Name, p.Lower))
		}
	}
	return t
}

func columnName(j *problem.Prepared, c int) string {
	return fmt.Sprintf("%q", j.Sample.Data.FeatureNames[j.Sample.Columns[c]])
}

// sentences returns one sentence for each kind.
func (t *boundText) sentences(tests boundTests) []string {
	var out []string
	add := func(names []string, one, several string) {
		switch len(names) {
		case 0:
		case 1:
			out = append(out, fmt.Sprintf(one, names[0]))
		default:
			out = append(out, fmt.Sprintf(several, problem.Listed(names)))
		}
	}
	add(t.lambda, "%s", "%s")
	on := ""
	if tests.rows > 0 {
		on = fmt.Sprintf(", by values on %d rows", tests.rows)
	}
	add(t.columns, "column %s does not matter at this optimum: its lengthscale is at its upper bound, and predictions do not depend on it"+on,
		"columns %s do not matter at this optimum: their lengthscales are at their upper bounds, and predictions do not depend on them"+on)
	if len(t.without) > 0 {
		out = append(out, fmt.Sprintf("the objective is %.2g nats lower without %s%s; option features can leave it out, and a fit without it may end lower still", -tests.without, problem.Listed(t.without), on))
	}
	add(t.near, "%s is at its upper bound, but the objective is lower at a moderate value"+on+"; this is no optimum: option set starts a fit there",
		"%s are at their upper bounds, but the objective is lower at moderate values"+on+"; this is no optimum: option set starts a fit there")
	add(t.parts, "%s is at its upper bound: this part of the kernel hardly varies with the column",
		"%s are at their upper bounds: these parts of the kernel hardly vary with their columns")
	add(t.terms, "%s is at its lower bound: at this optimum the data do not need this term of the kernel, and a descent with more of it ended no lower; a fit without it is simpler",
		"%s are at their lower bounds: at this optimum the data do not need these terms of the kernel, and descents with more of each ended no lower; a fit without them is simpler")
	add(t.alive, "%s is at its lower bound, but a descent with more of this term ended lower; another start (option set, option restarts) leads there",
		"%s are at their lower bounds, but descents with more of these terms ended lower; other starts (option set, option restarts) lead there")
	add(t.dead, "%s is at its lower bound: this term of the kernel explains nothing at this optimum; it may at another",
		"%s are at their lower bounds: these terms of the kernel explain nothing at this optimum; they may at another")
	add(t.absent, "%s is at its lower bound: the sum over columns does without this column at this optimum",
		"%s are at their lower bounds: the sum over columns does without these columns at this optimum")
	if len(t.prior) > 0 {
		out = append(out, strings.Join(t.prior, ", ")+": a value beyond it would fit the data better; option prior sets another prior")
	}
	if len(t.flat) > 0 {
		out = append(out, strings.Join(t.flat, ", ")+": a value beyond would hardly change the objective")
	}
	if len(t.upper) > 0 {
		out = append(out, strings.Join(t.upper, ", ")+": a larger value would fit the data better; option bounds sets other bounds")
	}
	if len(t.lower) > 0 {
		out = append(out, strings.Join(t.lower, ", ")+": a smaller value would fit the data better; option bounds sets other bounds")
	}
	return out
}

// scaleOf returns the kind of the kernel's parameter that takes the value of a free one,
// and the columns in use that it scales. A parameter that serves others, too, by ties, has
// the columns of all. The kind is 0 for a parameter outside the kernel.
func scaleOf(j *problem.Prepared, free int) (kind kernel.Kind, dims []int) {
	for _, p := range j.Program().Params {
		for i := range p.Size {
			if j.Params.All[p.Offset+i].Index != free {
				continue
			}
			kind = p.Kind
			if p.Vector {
				dims = append(dims, p.Dims[i])
			} else {
				dims = append(dims, p.Dims...)
			}
		}
	}
	slices.Sort(dims)
	return kind, slices.Compact(dims)
}

// signalVariances lists the kernel's parameters of kind Variance.
func signalVariances(j *problem.Prepared) []int {
	var out []int
	for _, p := range j.Program().Params {
		if p.Kind == kernel.Variance {
			out = append(out, p.Offset)
		}
	}
	return out
}

// switchedOff returns the columns in use, in order, whose lengthscales are all at upper bounds.
func switchedOff(j *problem.Prepared, at []descent.Bound) []int {
	upper := map[int]bool{}
	for _, b := range at {
		upper[b.Index] = b.Side == descent.Upper
	}
	var out []int
	for c := range j.Sample.Columns {
		if scalesBeyond(j, c, upper) {
			out = append(out, c)
		}
	}
	return out
}

// irrelevantOf returns the columns among some whose relevance is negligible.
func irrelevantOf(j *problem.Prepared, columns []int, relevance []summary.ColumnRelevance) []int {
	return slices.DeleteFunc(columns, func(c int) bool {
		known := slices.IndexFunc(relevance, func(r summary.ColumnRelevance) bool { return r.Index == j.Sample.Columns[c] })
		return known < 0 || !(relevance[known].Relevance < irrelevant)
	})
}

// scalesBeyond reports whether a column has lengthscales, each of its own, and all of them
// are among the given free parameters.
func scalesBeyond(j *problem.Prepared, column int, given map[int]bool) bool {
	found := false
	for _, p := range j.Program().Params {
		i := slices.Index(p.Dims, column)
		if i < 0 || p.Kind != kernel.Lengthscale && p.Kind != kernel.InnerScale {
			continue
		}
		if !p.Vector {
			if len(p.Dims) > 1 {
				return false
			}
			i = 0
		}
		if !given[j.Params.All[p.Offset+i].Index] {
			return false
		}
		found = true
	}
	return found
}

// A lengthscale at its upper bound and a signal variance at its lower one may only belong to a
// missed optimum. So no report says that a column does not matter, or that the data do not need a
// term, unless values of the objective say so, too.

const (
	// boundRows is the largest number of rows for values and descents over all rows; with more, a
	// random subset of subsetRows stands for them, without descents.
	boundRows, subsetRows = 1999, 1000
	// sameNats is the change of the objective that counts as none.
	sameNats = 0.1
	// flatNats is the derivative by the logarithm of a parameter that promises nothing beyond a bound.
	flatNats = 1e-3
	// removes is the factor from a bound to a value without any effect: the square of a
	// distance in units of the lengthscale is then below the rounding of 1.
	removes = 1e9
	// termShare is the share of the noise that a term gets to see whether it gains.
	termShare = 0.5
)

// moderate lists lengthscales, in standard deviations of a column, at which it has an effect.
var moderate = []float64{2, 6}

// boundTests are the results of tests of what is at a bound. Changes are of the objective over
// the rows of the tests, against the end of the fit; NaN if it is not known.
type boundTests struct {
	// rows is the number of rows if that is not all.
	rows int
	// columns have all their lengthscales at upper bounds. without is the change if all of them
	// leave the kernel, and near the lowest change with one of them at a moderate lengthscale.
	columns []int
	without float64
	near    map[int]float64
	// terms has the change without the term of a signal variance, by its index, and regrown the
	// change at the end of a descent in which the term began with more.
	terms, regrown map[int]float64
	// gradient is the gradient at the end of the fit, nil if it is not known.
	gradient []float64
	spent    descent.Evaluations
}

// flat reports whether the objective promises nothing beyond the bound of a free parameter.
func (t boundTests) flat(free int) bool {
	return t.gradient != nil && math.Abs(t.gradient[free]) < flatNats
}

// testBounds tests the columns and terms at bounds.
func testBounds(ctx context.Context, j *tuning.Job, w *tuning.Workplace, s *tuning.Placement, r *hyperopt.Result) (boundTests, error) {
	t := boundTests{gradient: r.Gradient, columns: switchedOff(j.Prepared, r.AtBound), without: math.NaN(), near: map[int]float64{}, terms: map[int]float64{}, regrown: map[int]float64{}}
	dead := deadTerms(j.Prepared, r.AtBound)
	if len(t.columns)+len(dead) == 0 {
		return t, nil
	}
	var objective descent.Func = s
	if j.N() > boundRows {
		t.rows = subsetRows
		rows := matrixrows.DrawRows(j.N(), subsetRows, j.Options.Settings.Seed, 0x626f756e64)
		part, err := w.Open(ctx, 0, rows)
		if errors.Is(err, hyperopt.ErrUndetermined) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		defer part.Close()
		objective = part
	}
	ev := descent.NewOracle(objective, nil)
	f, err := ev.Value(ctx, r.X)
	if err == nil {
		err = t.testColumns(ctx, j.Prepared, ev, r.X, f)
	}
	for _, i := range dead {
		if err == nil {
			err = t.testTerm(ctx, j, w, ev, objective, r.X, f, i)
		}
	}
	t.spent.Add(ev.Counts())
	return t, err
}

// testColumns evaluates without the columns, and with each of them at moderate lengthscales.
func (t *boundTests) testColumns(ctx context.Context, j *problem.Prepared, ev *descent.Oracle, z []float64, f float64) error {
	without := slices.Clone(z)
	for _, c := range t.columns {
		rms := math.Sqrt(problem.MeanSquare(j.Sample.Points.Column(c)))
		t.near[c] = math.Inf(1)
		for _, length := range moderate {
			there := slices.Clone(z)
			for i, q := range j.Params.Free {
				if _, dims := scaleOf(j, i); len(dims) == 1 && dims[0] == c {
					there[i], without[i] = q.Z(length*rms), q.Z(q.Upper*removes)
				}
			}
			v, err := ev.Value(ctx, there)
			if err != nil {
				return err
			}
			t.near[c] = min(t.near[c], v-f)
		}
	}
	if len(t.columns) == 0 {
		return nil
	}
	v, err := ev.Value(ctx, without)
	t.without = v - f
	return err
}

// testTerm evaluates without the term of a signal variance, and descends from a point where it
// has its start values and a share of the noise.
func (t *boundTests) testTerm(ctx context.Context, j *tuning.Job, w *tuning.Workplace, ev *descent.Oracle, objective descent.Func, z []float64, f float64, term int) error {
	q, there, noise := j.Params.Free[term], slices.Clone(z), 0.0
	there[term] = q.Z(q.Lower / removes)
	v, err := ev.Value(ctx, there)
	if t.terms[term] = v - f; err != nil || t.rows > 0 {
		return err
	}
	prefix, start := q.Name[:strings.LastIndex(q.Name, ".")+1], j.Params.Start()
	for i, p := range j.Params.Free {
		if strings.HasPrefix(p.Name, prefix) {
			there[i] = start[i]
		}
	}
	if noise, _ = estimatedNoise(j.Prepared, nil, z); noise <= 0 {
		noise = q.Natural(start[term])
	}
	there[term] = q.Z(max(termShare*noise, 2*q.Lower))
	search := descent.Search{Parameters: j.Params.List(), Objectives: []descent.Func{objective}, Starts: []descent.Start{{Z: there}}, Limits: w.Limits}
	r, err := descent.Minimize(ctx, search, j.Options.Settings.Descents(j.N()))
	if r != nil && r.X != nil {
		t.regrown[term] = r.F - f
		t.spent.Add(r.Evaluations)
	}
	if _, undefined := descent.Undefined(err); undefined {
		return nil
	}
	return err
}

// idle returns the columns that do not matter: without them the objective is the same, and
// none of them lowers it at a moderate lengthscale.
func (t *boundTests) idle() []int {
	if !(math.Abs(t.without) <= sameNats) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.columns), func(c int) bool { return t.near[c] < -sameNats })
}

// needless reports whether the objective is the same without a term and a descent with it did not
// end lower.
func (t *boundTests) needless(term int) bool {
	without, ok := t.terms[term]
	regrown, tried := t.regrown[term]
	return ok && tried && without <= sameNats && regrown >= -sameNats
}

// deadTerms lists the signal variances at their lower bounds of a kernel with several.
func deadTerms(j *problem.Prepared, at []descent.Bound) []int {
	var out []int
	for _, b := range at {
		kind, _ := scaleOf(j, b.Index)
		if b.Side == descent.Lower && kind == kernel.Variance && len(signalVariances(j)) > 1 && !ofColumn(j, b.Index) {
			out = append(out, b.Index)
		}
	}
	return out
}

// ofColumn reports whether a free parameter belongs to one column of a leaf.
func ofColumn(j *problem.Prepared, free int) bool {
	return slices.ContainsFunc(j.Program().Params, func(p kernel.Param) bool {
		return p.Vector && slices.ContainsFunc(j.Params.All[p.Offset:p.Offset+p.Size], func(q *problem.Parameter) bool { return q.Index == free })
	})
}
