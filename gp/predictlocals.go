package gp

import (
	"context"
	"slices"

	"gpfit/device"
	"gpfit/experts"
	"gpfit/internal/pick"
	"gpfit/kernel"
)

// localPiece is the number of points for which the predictions of all experts are kept.
const localPiece = 2048

// predictLocals returns the mean of each target and the variance of the function at m scaled
// rows, and the expert of each row, whose centre is nearest. count is the number of targets:
// all, or 1 for p.model alone. The variance includes the uncertainty of the coefficients of
// the mean function of the row's expert.
func (p *Posterior) predictLocals(ctx context.Context, scaled []float64, m, count int) (means [][]float64, latent []float64, own []int, err error) {
	d := len(p.model.Columns)
	own = p.whole.Experts.Assign(kernel.NewPoints(scaled, m, d))
	means = make([][]float64, count)
	for first := 0; first < m; first += localPiece {
		last := min(first+localPiece, m)
		mean, variance, err := p.predictPiece(ctx, scaled[first*d:last*d], own[first:last], count)
		if err != nil {
			return nil, nil, nil, err
		}
		for t := range means {
			means[t] = append(means[t], mean[t*(last-first):(t+1)*(last-first)]...)
		}
		latent = append(latent, variance...)
	}
	return means, latent, own, nil
}

// predictLocalMeans is PredictMeans for experts with parameters of their own.
func (p *Posterior) predictLocalMeans(ctx context.Context, rows []float64, m int) ([][]float64, error) {
	whole := p.whole
	scaled, err := scaledRows(whole, rows, m)
	if err != nil {
		return nil, err
	}
	means, _, _, err := p.predictLocals(ctx, scaled, m, whole.T())
	if err != nil {
		return nil, err
	}
	for t, mean := range means {
		scaling := whole.Target(t).Scaling
		for i := range mean {
			mean[i] = mean[i]*scaling.YScale + scaling.YMean
		}
		if err := checkResult("prediction", m, mean); err != nil {
			return nil, err
		}
	}
	return means, nil
}

// predictPiece is predictLocals for few rows, with the means one target after the other.
func (p *Posterior) predictPiece(ctx context.Context, scaled []float64, own []int, count int) (means, latent []float64, err error) {
	m, d, nearest := len(own), len(p.model.Columns), p.whole.Experts.Combine == experts.Nearest
	all, trends := make([]experts.Opinion, len(p.locals.each)), make([]float64, m)
	means, latent = make([]float64, m*count), make([]float64, m)
	err = experts.Each(ctx, p.ws, func(k int, _ device.Workspace) error {
		e, mine := p.locals.each[k], placesOf(k, own)
		rows := pick.Rows(scaled, mine, m, d)
		trend, err := e.trend(ctx, rows)
		if err != nil {
			return err
		}
		pick.Put(trends, trend, mine, m)
		if !nearest {
			all[k], err = e.opinion(ctx, scaled, count)
			return err
		}
		one, err := e.opinion(ctx, rows, count)
		if err == nil {
			pick.Put(means, one.Mean, mine, m)
			pick.Put(latent, one.Variance, mine, m)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if !nearest {
		means, latent = p.whole.Experts.Combined(own, all)
	}
	for i := range latent {
		latent[i] += trends[i]
	}
	return means, latent, nil
}

// placesOf returns the indices of the rows that belong to expert k.
func placesOf(k int, own []int) (places []int) {
	for i, home := range own {
		if home == k {
			places = append(places, i)
		}
	}
	return places
}

// opinion returns what a local expert says of the function at scaled rows, at the
// coefficients of its mean function, for all targets, or for p.model alone if count is 1.
func (p *Posterior) opinion(ctx context.Context, scaled []float64, count int) (experts.Opinion, error) {
	m, targets, alpha := len(scaled)/len(p.model.Columns), []*Model{p.model}, p.model.Alpha
	if count > 1 {
		targets, alpha = nil, p.whole.Alpha
		for t := range count {
			targets = append(targets, p.whole.Target(t))
		}
	}
	o := experts.Opinion{Mean: make([]float64, m*count), PriorVariance: make([]float64, m), Variance: make([]float64, m)}
	if m == 0 {
		return o, nil
	}
	xs := kernel.NewPoints(scaled, m, len(p.model.Columns))
	if err := p.ws.Predict(ctx, p.prog, p.model.Theta, alpha, xs, o.Mean, o.Variance); err != nil {
		return o, err
	}
	e := kernel.NewEvaluator(p.prog)
	e.Bind(p.model.Theta)
	e.Diagonal(o.PriorVariance, xs, 0, m)
	for i, reduction := range o.Variance {
		// Rounding can make the difference slightly negative.
		o.Variance[i] = max(o.PriorVariance[i]-reduction, 0)
	}
	for _, mod := range targets {
		o.PriorMean = append(o.PriorMean, meanValues(mod, scaled, m)...)
	}
	for i, v := range o.PriorMean {
		o.Mean[i] += v
	}
	return o, nil
}

// trend returns the variances at scaled rows that the coefficients of the mean function of a
// local expert add.
func (p *Posterior) trend(ctx context.Context, scaled []float64) ([]float64, error) {
	m := len(scaled) / len(p.model.Columns)
	out := make([]float64, m)
	if m == 0 {
		return out, nil
	}
	w, err := meanUncertainty(ctx, p, p.prog, p.model.Theta, kernel.NewPoints(scaled, m, len(p.model.Columns)), true)
	for i, v := range w {
		out[i/len(p.model.Mean.Basis)] += v * v
	}
	return out, err
}

// noises replaces the noise variances of rows by those of the rows' experts.
func (l *locals) noises(noise []float64, own []int, row RowNoise) error {
	for k, e := range l.each {
		values, err := noisesOf(e.model, len(noise), row)
		if err != nil {
			return err
		}
		for _, i := range placesOf(k, own) {
			noise[i] = values[i]
		}
	}
	return nil
}

// leaveOneOut returns the leave-one-out predictions of the experts, each from the rows of its
// own.
func (l *locals) leaveOneOut(ctx context.Context, y []float64) (*LeaveOneOut, error) {
	n := len(y)
	out := &LeaveOneOut{Target: y, Mean: make([]float64, n), Std: make([]float64, n), Residual: make([]float64, n), Standardized: make([]float64, n), LogDensity: make([]float64, n)}
	for k, e := range l.each {
		one, err := e.LeaveOneOut(ctx)
		if err != nil {
			return nil, err
		}
		for to, from := range map[*[]float64][]float64{&out.Mean: one.Mean, &out.Std: one.Std, &out.Residual: one.Residual, &out.Standardized: one.Standardized, &out.LogDensity: one.LogDensity} {
			pick.Put(*to, from, l.rows[k], n)
		}
	}
	return out, nil
}

// calibrateLocals is CalibrateExperts for experts with parameters of their own.
func (p *Posterior) calibrateLocals(ctx context.Context) (*experts.Partition, error) {
	m, part := p.whole, p.whole.Experts
	n, d := m.N(), len(m.Columns)
	rows := part.CalibrationRows(n)
	scaled := m.Scaling.Inputs(pick.Rows(m.X, rows, n, d))
	own := part.Assign(kernel.NewPoints(scaled, len(rows), d))
	all, noise := make([]experts.Opinion, len(p.locals.each)), make([]float64, n)
	err := experts.Each(ctx, p.ws, func(k int, _ device.Workspace) (err error) {
		e, trained := p.locals.each[k], p.locals.rows[k]
		if all[k], err = e.opinion(ctx, scaled, m.T()); err != nil {
			return err
		}
		mean, variance, own, err := e.leftOut(ctx)
		pick.Put(noise, own, trained, n)
		for j, i := range rows {
			at, found := slices.BinarySearch(trained, i)
			if !found || err != nil {
				continue
			}
			all[k].Variance[j] = min(variance[at], all[k].PriorVariance[j])
			for t := range m.T() {
				all[k].Mean[t*len(rows)+j] = mean[t*len(trained)+at]
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var observed []float64
	for t := range m.T() {
		observed = append(observed, pick.Rows(m.Target(t).Scaling.Targets(m.Target(t).Y), rows, n, 1)...)
	}
	return part.Calibrated(own, all, observed, pick.Rows(noise, rows, n, 1)), nil
}

// leftOut returns the predictions of the training rows of a local expert from its others, in
// scaled units: the means of all targets, the variances of the function, which rounding may
// make negative, and those of the noise. See [LeaveOneOut].
func (p *Posterior) leftOut(ctx context.Context) (means, variance, noise []float64, err error) {
	n := p.whole.N()
	variance, noise = make([]float64, n), make([]float64, n)
	inverse, err := device.Capability[device.InverseDiagonal](p.ws, "the diagonal of the inverse, which leave-one-out needs")
	if err == nil {
		err = inverse.InverseDiagonal(ctx, variance)
	}
	if err == nil {
		err = projectMean(ctx, p, variance)
	}
	diagonal := noiseDiagonal(p.whole)
	for t := range p.whole.T() {
		one := p.whole.Target(t)
		for i, y := range one.Scaling.Targets(one.Y) {
			means = append(means, y-one.Alpha[i]/variance[i])
		}
	}
	for i, kappa := range variance {
		noise[i] = diagonal[min(i, len(diagonal)-1)]
		variance[i] = 1/kappa - noise[i]
	}
	return means, variance, noise, err
}
