package fit

import (
	"context"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
)

// lostByExperts says how much higher the NLML of local experts is than the NLML of one process of all rows with the same parameters z, by the first
// of some methods that bounds its error and takes less than a minute. It returns nil if there is none, or if it fails.
func lostByExperts(ctx context.Context, j *tuning.Job, b device.Backend, z []float64, nlml float64, methods []device.Method) (*summary.LostNats, error) {
	whole := j.With(func(p *problem.Prepared) { p.Experts = nil })
	w := tuning.Workload(whole)
	for _, one := range device.Weigh(methods, b.Capabilities().Devices, w) {
		if !one.Method.About().Bounded || one.Err != nil || !one.Plan.Brief(1) || device.Room(one.Backends[0], one.Plan) != nil {
			continue
		}
		s, err := whole.Open(ctx, one.Backends[0])
		if err == nil {
			defer s.Close()
			_, err = s.Value(ctx, z)
		}
		if err == nil {
			err = s.Approximate(ctx, z)
		}
		switch {
		case problem.IsCancelled(err):
			return nil, err
		case err != nil:
			return nil, nil // the report of the experts does without it
		}
		return &summary.LostNats{Nats: nlml - s.Terms().NLML(), Approximation: s.Approximation}, nil
	}
	return nil, nil
}
