package problem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// fromModel takes what the options leave open from Options.From: the model's expressions, scaling, noise and
// its floor, ties, priors and objective.
func (o *resolved) fromModel() (err error) {
	m := o.From
	if m == nil {
		return nil
	}
	if o.earlier, err = earlierFit(m); err != nil {
		return err
	}
	if o.Kernels == nil {
		o.Kernels = m.Kernels
	}
	if m.NoiseVariance == 0 && len(m.Noise.Labels) == 0 && !o.namesNoise() {
		o.NoNoise = true
	}
	o.fromFit(o.earlier)
	if o.Settings.Coarse == "" && o.Settings.Restarts == 0 {
		// The start is an optimum on similar rows, which subsets would leave.
		o.Settings.Coarse = hyperopt.CoarseOff
	}
	if o.Auto() {
		o.Kernel = m.KernelText()
	}
	if o.AutoMean() {
		if o.Mean, err = m.Mean.Named(m.FeatureNames); err != nil {
			return OptionErrorf("from", "", "the mean function of the model: %v", err)
		}
		if o.MeanFit == MeanAuto && len(m.Mean.Basis) > 0 {
			if o.MeanFit = MeanFree; m.Mean.LeastSquares {
				o.MeanFit = MeanGLS
			}
		}
	}
	o.Standardize = cmp.Or(o.Standardize, m.Scaling.Standardize())
	if t := m.Scaling.Transform; t != nil {
		o.TargetTransform = cmp.Or(o.TargetTransform, t.Kind)
	}
	if m.Scaling.XTransforms != nil {
		o.InputTransform = cmp.Or(o.InputTransform, transform.Skewed)
	}
	return nil
}

// fitted has the fields of a model's report that a fit from it uses; see summary.Report.
type fitted struct {
	N             int                  `json:"n"`
	ObjectiveName string               `json:"objective_name"`
	Priors        map[string]priorText `json:"priors"`
	Tied          map[string]string    `json:"tied"`
	Robust        *struct{}            `json:"robust"`
	NoiseFloor    NoiseFloor           `json:"noise_floor_option"`
	StdErrors     *struct {
		Names   []string    `json:"names"`
		Hessian [][]float64 `json:"hessian"`
		Failure string      `json:"failure"`
	} `json:"std_errors"`
}

// priorText is a prior that reports have as a text.
type priorText struct{ graph.Prior }

func (p *priorText) UnmarshalText(text []byte) (err error) {
	p.Prior, err = graph.ParsePrior(string(text))
	return err
}

// earlierFit reads the report of a model; the result is empty if it has none.
func earlierFit(m *gp.Model) (fitted, error) {
	var record struct {
		Report fitted `json:"report"`
	}
	if m.Record == nil {
		return record.Report, nil
	}
	if err := json.Unmarshal(m.Record, &record); err != nil {
		return record.Report, OptionErrorf("from", "", "the report of the model cannot be read: %v", err)
	}
	return record.Report, nil
}

// fromFit takes the ties, the priors, the noise floor and the objective of an earlier fit, except priors
// of parameters that have one in the options.
func (o *resolved) fromFit(r fitted) {
	if o.Objective == "" && r.ObjectiveName != "" {
		o.Objective = Criterion(strings.TrimSuffix(r.ObjectiveName, WithPrior))
	}
	o.Robust = o.Robust || r.Robust != nil
	if !o.NoNoise && !o.namesNoise() {
		o.NoiseFloor = cmp.Or(o.NoiseFloor, r.NoiseFloor)
	}
	if o.Ties == nil {
		for _, name := range slices.Sorted(maps.Keys(r.Tied)) {
			o.Ties = append(o.Ties, Tie{name, r.Tied[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Priors)) {
		base, _, _ := strings.Cut(name, "[")
		if !slices.ContainsFunc(o.Priors, func(p ParameterPrior) bool { return p.Name == name || p.Name == base }) {
			o.Priors = append(slices.Clip(o.Priors), ParameterPrior{name, r.Priors[name].Prior})
		}
	}
}

// named lists the names that options give values, bounds or priors.
func (o Options) named() []string {
	names := each.Of(slices.Concat(o.Set, o.Fix), func(a Assignment) string { return a.Name })
	for _, b := range o.Bounds {
		names = append(names, b.Name)
	}
	for _, p := range o.Priors {
		names = append(names, p.Name)
	}
	return names
}

// namesNoise reports whether an option names the noise variance.
func (o Options) namesNoise() bool {
	return slices.ContainsFunc(o.named(), func(name string) bool { return strings.HasPrefix(name, graph.NoiseVariance) })
}

// startFrom takes the start values of the parameters that a model has, too. Its values
// are converted from its scaling to the sample's. A value that serves several columns
// takes the geometric mean of their scales.
func (p *application) startFrom() error {
	from := p.opts.From
	if from == nil {
		return nil
	}
	if err := hasColumns(p.sample.Features, from); err != nil {
		return err
	}
	values, found := from.Parameters(), 0
	var missing, others []string
	for i := range p.Free {
		q := p.Free[i]
		v, ok := values[q.Name]
		if !ok {
			v, ok = values[q.Group]
		}
		ratio, known := p.rescaled(q.Indexed)
		if ok && !known {
			others = append(others, q.Name)
			continue
		}
		if !ok || q.Log && !(v > 0) {
			missing = append(missing, q.Name)
			continue
		}
		q.Start, q.Given, q.Found = v*ratio+p.moved(q.Indexed), true, true
		found++
	}
	switch {
	case found == 0:
		return OptionErrorf("from", "", "the model has no parameter of this fit: its kernel is %s; leave out option from, or give its kernel", from.KernelText())
	case len(missing) > 0:
		p.Warnings = append(p.Warnings, fmt.Sprintf("the model has no value of %s: a default start value is used", Listed(missing)))
	}
	if len(others) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s start at default values, because the rows of the model have another mean and standard deviation than these", Listed(others)))
	}
	return nil
}

// hasColumns returns an error if a table with some features lacks a column that the model uses.
func hasColumns(features []string, from *gp.Model) error {
	for _, c := range from.Columns {
		name := from.FeatureNames[c]
		if !slices.Contains(features, name) {
			return OptionErrorf("from", "", "the model uses the feature %q, which the table does not have; its features are %s: rename the column, name the columns with option features and give a kernel, or fit without option from", name, Listed(features))
		}
	}
	return nil
}

// rescaled returns the factor that converts a parameter of the scaled problem of
// another model to the sample's problem, by the units of the parameter.
func (p *application) rescaled(indexed string) (ratio float64, ok bool) {
	from, own := p.opts.From, p.sample.Scalings[0]
	targets := from.Scaling.YScale / own.YScale
	if t, other := own.Transform, from.Scaling.Transform; (t == nil) != (other == nil) || t != nil && t.Kind != other.Kind {
		targets = 1 // each in units of its own
	} else if indexed == transform.Parameter {
		return 1, true
	}
	if strings.HasPrefix(indexed, graph.NoiseVariance) {
		return targets * targets, true
	}
	// inputs returns the ratio of the scales of a column in use; 1 if the model has none.
	inputs := func(c int) float64 {
		k := p.columnOf(c)
		if k < 0 {
			return 1
		}
		return from.Scaling.XScale[k] / own.XScale[c]
	}
	for _, q := range p.program.Params {
		i := slices.Index(q.ElementNames(), indexed)
		if i < 0 {
			continue
		}
		dims := q.Dims
		if q.Vector {
			dims = q.Dims[i : i+1]
		}
		logs := 0.0
		for _, c := range dims {
			logs += math.Log(inputs(c)) / float64(len(dims))
		}
		return math.Pow(targets, q.Units.Target) * math.Pow(math.Exp(logs), q.Units.Input), true
	}
	// A coefficient of the mean mixes scales and shifts.
	same := own.YMean == from.Scaling.YMean && slices.Equal(own.XMean, from.Scaling.XMean) && slices.Equal(own.XScale, from.Scaling.XScale)
	return 1, same && targets == 1
}

// moved returns the shift of a parameter that is a place in a column from another model's scaling to the
// sample's, after its factor; 0 for other parameters.
func (p *application) moved(indexed string) float64 {
	i := slices.IndexFunc(p.program.Params, func(q kernel.Param) bool { return q.Name == indexed && q.Moves })
	if i < 0 {
		return 0
	}
	c, from, own := p.program.Params[i].Dims[0], p.opts.From, p.sample.Scalings[0]
	k := p.columnOf(c)
	if k < 0 {
		return 0
	}
	return (from.Scaling.XMean[k] - own.XMean[c]) / own.XScale[c]
}

// columnOf returns the position of a column in use among the columns of the model that the fit starts from, or −1.
func (p *application) columnOf(c int) int {
	from, name := p.opts.From, p.names.Features[p.names.Columns[c]]
	return slices.IndexFunc(from.Columns, func(f int) bool { return from.FeatureNames[f] == name })
}

// metricFrom returns the Hessian that the report of an earlier fit has, for the parameters of
// the job and scaled to its number of rows; nil if it has none.
func (p *ParameterList) metricFrom(earlier fitted, rows int) descent.Metric {
	e := earlier.StdErrors
	if e == nil || e.Failure != "" {
		return nil
	}
	metric := p.Metric(e.Names, e.Hessian)
	if metric == nil {
		return nil
	}
	return metric.Scaled(float64(rows) / float64(earlier.N))
}

// Metric returns a Hessian of named parameters for the objective's vector, nil if it lacks a
// parameter that is not fixed.
func (p *ParameterList) Metric(names []string, hessian [][]float64) descent.Metric {
	metric := make(descent.Metric, len(p.Free)*len(p.Free))
	for i, q := range p.Free {
		for k, r := range p.Free {
			a, b := slices.Index(names, q.Name), slices.Index(names, r.Name)
			if q.Fixed || r.Fixed {
				continue
			}
			if a < 0 || b < 0 {
				return nil
			}
			metric[i*len(p.Free)+k] = hessian[a][b]
		}
	}
	return metric
}
