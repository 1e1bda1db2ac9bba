package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
)

// prepareNoise splits what is known of the rows' noise, checks it and brings it
// to scaled units: t.noise for the training rows, t.testNoise for the others.
func (t *Task) prepareNoise() error {
	d := t.data
	if d.NoiseVariance != nil && len(d.NoiseVariance) != d.N || d.NoiseGroup != nil && len(d.NoiseGroup) != d.N {
		return &DataError{fmt.Sprintf("%d noise variances and %d noise groups for %d rows", len(d.NoiseVariance), len(d.NoiseGroup), d.N)}
	}
	if t.opts.NoNoise && d.NoiseGroup != nil {
		return optionErrorf("noise groups are estimated: they do not go with --noise none")
	}
	if d.TargetNames != nil && d.NoiseVariance != nil {
		return optionErrorf("known noise variances are in squared units of one target: they do not go with several, which share one covariance; fit the targets one by one")
	}
	t.noise.None = t.opts.NoNoise
	var labels []string
	for i := range d.N {
		held := d.Test != nil && d.Test[i]
		if d.NoiseVariance != nil {
			v := d.NoiseVariance[i]
			if !(v >= 0) || math.IsInf(v, 0) {
				return &DataError{fmt.Sprintf("the noise variance of row %d (from 1), column %q, is %v: must be a number from 0", i+1, d.NoiseColumn, v)}
			}
			if held {
				t.testNoise.Known = append(t.testNoise.Known, v)
			} else {
				t.noise.Known = append(t.noise.Known, v/(t.scaling.YScale*t.scaling.YScale))
			}
		}
		if d.NoiseGroup != nil {
			if held {
				t.testNoise.Group = append(t.testNoise.Group, d.NoiseGroup[i])
			} else {
				labels = append(labels, d.NoiseGroup[i])
			}
		}
	}
	return t.groups(labels)
}

// groups numbers the labels of the training rows in sorted order.
func (t *Task) groups(labels []string) error {
	if labels == nil {
		return nil
	}
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	t.noise.Labels = slices.Compact(sorted)
	if groups := len(t.noise.Labels); 2*groups > len(labels) {
		return &DataError{fmt.Sprintf("the column %q has %d noise groups in %d training rows: a variance cannot be estimated from fewer than two rows each", t.data.NoiseGroupColumn, groups, len(labels))}
	}
	for _, label := range labels {
		g, _ := slices.BinarySearch(t.noise.Labels, label)
		t.noise.Group = append(t.noise.Group, g)
	}
	for _, label := range t.testNoise.Group {
		if _, ok := slices.BinarySearch(t.noise.Labels, label); !ok {
			return &DataError{fmt.Sprintf("the noise group %q (column %q) is in held-out rows only: its variance cannot be estimated", label, t.data.NoiseGroupColumn)}
		}
	}
	return nil
}

// noiseParameters adds the estimated noise variances.
func (t *Task) noiseParameters(variance float64) {
	p := parameter{
		name: graph.NoiseVariance, group: graph.NoiseVariance, isLog: true,
		start: variance * noiseStart, lo: variance * noiseLo, hi: variance * noiseHi,
	}
	switch {
	case t.noise.None:
	case t.noise.Labels == nil:
		t.params = append(t.params, p)
	default:
		for _, label := range t.noise.Labels {
			p.name = graph.NoiseName(label)
			t.params = append(t.params, p)
		}
	}
}

// modelNoise puts what differs from row to row into a model: the noise of the
// objective's last evaluation, and the rows' numbers where they are not all of a
// table.
func (t *Task) modelNoise(m *gp.Model, obj *graph.Objective) {
	_, estimated, _ := obj.Theta()
	m.Noise = gp.Noise{Column: t.data.NoiseColumn}
	switch {
	case t.noise.Labels != nil:
		m.Noise.GroupColumn, m.Noise.Labels, m.Noise.Variances = t.data.NoiseGroupColumn, t.noise.Labels, estimated
	case len(estimated) == 1:
		m.NoiseVariance = estimated[0]
	}
	if diagonal := obj.Noise(); len(diagonal) > 1 {
		m.TrainNoise = diagonal
	}
	if t.data.Row == nil && len(t.rows) == t.data.N {
		return
	}
	m.Rows = make([]float64, len(t.rows))
	for k, i := range t.rows {
		if t.data.Row != nil {
			i = t.data.Row[i]
		}
		m.Rows[k] = float64(i)
	}
}

// explainFit replaces an optimiser's advice on a start that cannot be evaluated
// where it is not the noise variance that could be raised.
func (t *Task) explainFit(err error) error {
	var start *hyperopt.StartError
	if errors.As(err, &start) && (t.opts.NoNoise || isCondition(err)) {
		return t.explainStart(start.Err)
	}
	return err
}
