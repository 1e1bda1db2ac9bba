package problem

import (
	"slices"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/transform"
	"gpfit/table/feature"
)

// lambda returns λ of the transform if it has one.
func (d defaults) lambda() []Parameter {
	t := d.Scalings[0].Transform
	if t == nil || !t.Kind.Tuned() {
		return nil
	}
	return []Parameter{{Parameter: descent.Parameter{
		Name: transform.Parameter, Group: transform.Parameter, Start: t.Lambda, Lower: transform.LowestLambda, Upper: transform.HighestLambda,
	}, Bounded: true}}
}

// checkLambda returns an [*OptionError] for a value or a bound of λ that predictions cannot have.
func (p *application) checkLambda() error {
	for _, q := range p.Free {
		if q.Group != transform.Parameter {
			continue
		}
		for _, v := range []float64{q.Start, q.Lower, q.Upper} {
			if !(v >= transform.LowestLambda && v <= transform.HighestLambda) {
				return OptionErrorf("target-transform", "", "lambda cannot be %g: it must be from %d to %d, where every prediction has a mean", v, transform.LowestLambda, transform.HighestLambda)
			}
		}
	}
	return nil
}

// ScalingAt returns the scaling of the first target with λ at z, the objective's vector.
func ScalingAt(s gp.Scaling, p *ParameterList, z []float64) gp.Scaling {
	for i, q := range p.Free {
		if q.Group == transform.Parameter {
			s.Transform = s.Transform.With(q.Natural(z[i]))
		}
	}
	return s
}

// targetTransform returns the transform for the graph, nil if it has no parameter.
func targetTransform(s *Sample) *graph.TargetTransform {
	scaling := s.Scalings[0]
	t := scaling.Transform
	if t == nil || !t.Kind.Tuned() {
		return nil
	}
	out := &graph.TargetTransform{Kind: t.Kind, Mean: scaling.YMean, Scale: scaling.YScale}
	for _, y := range s.Y {
		out.Coordinates = append(out.Coordinates, t.Coordinate(y))
	}
	return out
}

// columnTransforms returns the transforms of the columns in use: the transforms of the model from which the fit starts, else of the
// columns of numbers that have long tails; nil if there are none.
func (o *resolved) columnTransforms(s *Sample) []*transform.Map {
	if o.InputTransform != transform.Skewed {
		return nil
	}
	out, sources := make([]*transform.Map, s.D()), s.Data.Encoding.Sources()
	for c, column := range s.Columns {
		if of := o.From; of != nil && of.Scaling.XTransforms != nil {
			k := slices.IndexFunc(of.Columns, func(f int) bool { return of.FeatureNames[f] == s.Data.FeatureNames[column] })
			if k >= 0 {
				out[c] = of.Scaling.XTransforms[k]
			}
		} else if sources == nil || s.Data.Encoding.Columns[sources[column]].Kind == feature.Number {
			out[c] = transform.OfColumn(inUse(s.X, s.D(), []int{c}))
		}
	}
	if !slices.ContainsFunc(out, func(t *transform.Map) bool { return t != nil }) {
		return nil
	}
	return out
}
