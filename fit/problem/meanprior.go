package problem

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/kernel"
	"gpfit/mean"
)

// MeanPrior is the variance of the prior of the mean's coefficients. The zero value means no prior.
type MeanPrior struct {
	// Variance is in scaled units. Tuned means that the fit tunes it.
	Variance float64
	Tuned    bool
}

// ParseMeanPrior reads the text form: a positive number, or "tuned".
func ParseMeanPrior(text string) (p MeanPrior, err error) {
	if text == "tuned" {
		return MeanPrior{Tuned: true}, nil
	}
	if p.Variance, err = strconv.ParseFloat(text, 64); err != nil || !p.known() {
		return p, errors.New("must be a positive variance in scaled units, or tuned")
	}
	return p, nil
}

// known reports whether the variance is one.
func (p MeanPrior) known() bool { return p.Variance > 0 && !math.IsInf(p.Variance, 0) }

// String returns the text form, empty for the zero value.
func (p MeanPrior) String() string {
	switch {
	case p.Tuned:
		return "tuned"
	case p.Variance == 0:
		return ""
	}
	return strconv.FormatFloat(p.Variance, 'g', -1, 64)
}

// withMeanPrior changes the options to the same model without a mean function: with the prior β ~ N(0, s²I) of the
// coefficients, a process with covariance k and mean h(x)ᵀβ is a process with mean 0 and the covariance
// k(x, x′) + s² h(x)ᵀh(x′) (RW, eq. 2.39 and 2.40). Each basis function becomes a term of the kernel, with s² for its
// signal variance; all linear functions together are one term.
func (o *resolved) withMeanPrior(s *Sample) error {
	prior := o.MeanPrior
	if prior == (MeanPrior{}) {
		if o.Kernel == NoKernel {
			return OptionErrorf("kernel", NoKernel, "leaves noise alone: it needs option mean-prior, whose basis functions explain the targets")
		}
		return nil
	}
	wrong := func(format string, args ...any) error {
		return OptionErrorf("mean-prior", prior.String(), format, args...)
	}
	switch {
	case !prior.Tuned && !prior.known():
		return wrong("must be a positive variance in scaled units")
	case o.Auto():
		return wrong("needs a kernel: give option kernel, such as %s, or %s for the basis functions alone", DefaultKernel, NoKernel)
	case o.From != nil:
		return wrong("the kernel of a model to start from has its terms already: leave out one of option mean-prior and option from")
	case o.MeanFit != MeanAuto:
		return wrong("coefficients with a prior are integrated out: leave out option mean-fit")
	}
	basis, err := basisOf(o.mean, s)
	if err != nil {
		return OptionErrorf("mean", o.mean.Text(s.Features), "%v", s.named(err))
	}
	if len(basis) == 0 {
		return wrong("the mean zero has no coefficients; give option mean another one")
	}
	terms, periods := basisTerms(basis)
	first, err := o.addTerms(s.Features, terms)
	if err != nil {
		return err
	}
	for i, name := range first {
		if periods[i] > 0 {
			o.Fix = append(slices.Clip(o.Fix), Assignment{Name: strings.TrimSuffix(name, "signal_variance") + "period", Value: periods[i], Given: true})
		}
	}
	o.MeanPrior, o.Mean, o.mean = MeanPrior{}, "zero", nil
	for i, name := range first {
		switch {
		case !prior.Tuned:
			o.Fix = append(slices.Clip(o.Fix), Assignment{Name: name, Value: prior.Variance, Given: true})
		case i > 0:
			o.Ties = append(slices.Clip(o.Ties), Tie{Name: name, Source: first[0]})
		}
	}
	return nil
}

// addTerms adds terms to the kernel and returns the names of their signal variances.
func (o *resolved) addTerms(columns, terms []string) (variances []string, err error) {
	before, all := 0, terms
	if o.kernel != nil {
		before = 1
		if sum, ok := o.kernel.(kernel.Sum); ok {
			before = len(sum)
		}
		all = append([]string{kernel.Text(o.kernel, columns)}, terms...)
	}
	o.Kernel, o.ARD = strings.Join(all, " + "), false // the terms have no lengthscales
	if o.kernel, err = o.parser(columns).Parse(o.Kernel); err != nil {
		return nil, err
	}
	if before+len(terms) == 1 {
		return []string{"signal_variance"}, nil
	}
	for i := range terms {
		variances = append(variances, fmt.Sprintf("k%d.signal_variance", before+i+1))
	}
	return variances, nil
}

// basisTerms returns the kernels h(x)h(x′) of basis functions as texts, with the linear ones in one, and the periods of the terms that
// have one: cosine and sine of a wave are one term, since cos x·cos y + sin x·sin y = cos(x − y).
func basisTerms(basis mean.Basis) (terms []string, periods []float64) {
	var linear []string
	for _, f := range basis {
		if f.Group == mean.Linear {
			linear = append(linear, strconv.Itoa(f.Label))
		}
	}
	if linear != nil {
		terms = append(terms, "linear(dims=["+strings.Join(linear, ", ")+"])")
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	product := func(f mean.Function, format string) string {
		at := func(variable string) string {
			return fmt.Sprintf(format, variable, number(f.Centre), number(f.Width))
		}
		return fmt.Sprintf("formula(%s*%s, dims=%d)", at("x"), at("y"), f.Label)
	}
	has := func(f mean.Function, group string) bool {
		f.Group = group
		return slices.Contains(basis, f)
	}
	for _, f := range basis {
		switch f.Group {
		case mean.Constant:
			terms = append(terms, "constant")
		case mean.Power:
			power := slices.Repeat([]string{fmt.Sprintf("linear(dims=%d)", f.Label)}, f.Index)
			terms = append(terms, strings.Join(power, "*"))
		case mean.Bump:
			terms = append(terms, product(f, "exp(-((%s - (%s))/%s)^2/2)"))
		case mean.Cosine:
			if has(f, mean.Sine) {
				for len(periods) < len(terms) {
					periods = append(periods, 0)
				}
				terms, periods = append(terms, fmt.Sprintf("cosine(dims=%d)", f.Label)), append(periods, f.Width)
			} else {
				terms = append(terms, product(f, "cos(2*pi*(%s - (%s))/%s)"))
			}
		case mean.Sine:
			if !has(f, mean.Cosine) {
				terms = append(terms, product(f, "sin(2*pi*(%s - (%s))/%s)"))
			}
		}
	}
	return terms, append(periods, make([]float64, len(terms)-len(periods))...)
}
