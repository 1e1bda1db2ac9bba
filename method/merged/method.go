package merged

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
)

// Name is the name of the method.
const Name = "merged"

// Method computes by [device.Dense] with the different rows of a table, on any device of that
// method. It embeds it for the error of a device that cannot factor matrices.
type Method struct{ device.Dense }

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Exact: true, Text: "rows that repeat count once, with less noise: the dense result at the cost of the different rows",
		Help: "which counts rows of equal inputs once and has the same results",
	}
}

// MaxRows returns for how many rows memory holds the method's numbers of each: how many fit depends
// on how many differ. It is 0 if the free memory is unknown.
func (Method) MaxRows(hostFree int64) int { return int(hostFree / rowBytes) }

// Backends implements [device.Method].
func (m Method) Backends(devices []device.Device) ([]device.Backend, error) {
	inner, err := m.Dense.Backends(devices)
	if err != nil {
		return nil, err
	}
	for i, d := range devices {
		b := backend{inner[i], d.(device.DenseDevice)}
		inner[i] = b
		if means, ok := d.(device.MeanPredictor); ok {
			inner[i] = withMeans{b, means}
		}
	}
	return inner, nil
}

// backend is the method on one device, whose dense backend it embeds.
type backend struct {
	device.Backend
	on device.DenseDevice
}

// Capabilities implements [device.Backend].
func (b backend) Capabilities() device.Capabilities {
	c := b.Backend.Capabilities()
	c.Method = Name
	return c
}

// Supports implements [device.Backend].
func (b backend) Supports(w device.Workload) error {
	if w.Factor {
		return &device.UnsupportedError{Method: Name, What: "the Cholesky factor of all rows, which a saved factor needs; the method dense does"}
	}
	if w.Blocks != nil && knownPoints(w) {
		if _, err := wholeFolds(groupsOf(w.Points), w.Blocks); err != nil {
			return err
		}
	}
	return b.Backend.Supports(w)
}

// wholeFolds returns the ends of folds of groups for the ends of folds of rows. If a fold divides a
// group, blocks of Σ_u⁻¹ overlap, and there is an [*device.UnsupportedError].
func wholeFolds(g *groups, ends []int) ([]int, error) {
	own, whole := g.folds(ends)
	if !whole {
		return nil, &device.UnsupportedError{Method: Name, What: "blocks of the inverse for folds that divide rows of equal inputs; the method dense does"}
	}
	return own, nil
}

// rowBytes is the memory of the groups and weights of a row.
const rowBytes = 8 * 10

// Plan implements [device.Backend]: the plan of the different rows, if the points are known.
func (b backend) Plan(w device.Workload) device.Plan {
	if !knownPoints(w) {
		return b.Backend.Plan(w)
	}
	n, g, blocks := w.N, groupsOf(w.Points), 0
	first, cubes := 0, 0.0
	for _, end := range w.Blocks {
		m := end - first
		blocks += m * m
		cubes += float64(m) * float64(m) * float64(m)
		first = end
	}
	w.N, w.Points = g.u(), nil
	w.Blocks, _ = g.folds(w.Blocks)
	p := b.Backend.Plan(w)
	p.N = n
	p.FlopsGradient += 3 * cubes
	what := fmt.Sprintf("the groups of %d rows, of which %d differ", n, g.u())
	return p.With(device.Need{Bytes: rowBytes*int64(n) + 16*int64(blocks), What: what})
}

// knownPoints reports whether a workload has its points.
func knownPoints(w device.Workload) bool { return w.Points != nil && w.Points.N == w.N }

// withMeans is a backend on a device that predicts means without a workspace.
type withMeans struct {
	backend
	on device.MeanPredictor
}

// PredictMeans implements [device.MeanPredictor] with the different points.
func (p withMeans) PredictMeans(ctx context.Context, x *kernel.Points, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean []float64) error {
	if err := device.Invalid(Name, device.CheckPrediction(x, xs, alpha, mean, nil)); err != nil {
		return err
	}
	g := groupsOf(x)
	return p.on.PredictMeans(ctx, g.points(x), prog, theta, g.sums(alpha), xs, mean)
}
