package mpi

import (
	"context"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/device/part"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
	"gpfit/method/mpi/message"
)

// onCards is the method on the cards of the ranks, one for each.
type onCards struct {
	part.Device
	all   []device.Device
	shape part.Shape
}

// onCard returns the backend on the first of some devices, which are lanes of one card.
func onCard(first part.Device, all []device.Device) ([]device.Backend, error) {
	ranks := message.Launched().Size
	shape, err := part.ShapeFor(ranks, part.CardBlock)
	for _, d := range all {
		if d.Info().Name != first.Info().Name {
			err = errors.New("each rank takes one card: start as many ranks as there are cards, and name none of these")
		}
	}
	if err == nil && ranks > 1 {
		_, err = openFor(first)
	}
	if err != nil {
		return nil, &device.UnavailableError{Device: first.Info().Name, Method: Name, Reason: err.Error()}
	}
	return []device.Backend{onCards{first, all, shape}}, nil
}

// Info implements [device.Backend].
func (b onCards) Info() device.Info {
	info := b.Device.Info()
	if ranks := b.shape.Rows * b.shape.Cols; ranks > 1 {
		info.Description = fmt.Sprintf("%d ranks of MPI, each with a card such as %s", ranks, info.Description)
	}
	return info
}

// Capabilities implements [device.Backend].
func (b onCards) Capabilities() device.Capabilities {
	return device.Capabilities{Method: Name, Exact: true, Precision: hostmethod.Precision, Devices: b.all}
}

// cardEfficiency is the rate of a card among others as a share of its rate as the only one. It has never been measured.
const cardEfficiency = 0.7

// Plan implements [device.Backend], with the memory of one card.
func (b onCards) Plan(w device.Workload) device.Plan {
	p := planOnCards(b.Device, w.N, w.D, b.shape)
	if ranks := b.shape.Rows * b.shape.Cols; ranks > 1 {
		p.Needs[0].What = fmt.Sprintf("the part of a %d×%d matrix of 8-byte numbers on each of %d cards, and working space", w.N, w.N, ranks)
	}
	return p
}

// planOnCards returns the plan of a part on each of the cards of a shape.
func planOnCards(card part.Device, n, d int, s part.Shape) device.Plan {
	p := card.PartPlan(n, d, s)
	p.FlopRate *= cardEfficiency
	return p
}

// Supports implements [device.Backend].
func (b onCards) Supports(w device.Workload) error {
	if d, ok := b.Device.(device.DenseDevice); ok && w.Program != nil {
		if err := d.Supports(w.Program); err != nil {
			return err
		}
	}
	return supports(w, b.shape.Rows*b.shape.Cols)
}

// NewWorkspace implements [device.Backend]. Cards have no products of derivatives.
func (b onCards) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	w := device.Workload{N: x.N, D: x.D}
	plan := b.Plan(w)
	if err := errors.Join(b.Supports(w), ctx.Err(), device.CheckInputs(x), plan.Check(b.Info())); err != nil {
		return nil, err
	}
	s, err := newWorkspace(b.Device, b.Device, x, plan, 0)
	if err != nil {
		return nil, err
	}
	return struct{ cardWorkspace }{s}, nil
}

// cardWorkspace has the capabilities of a workspace on cards, and hostWorkspace of one on processors.
type (
	cardWorkspace interface {
		device.Workspace
		device.InverseDiagonal
		device.JointCovariance
	}
	hostWorkspace interface {
		cardWorkspace
		device.DerivativeProducts
	}
)

// Close implements [device.Backend]: the ranks leave each other's cards.
func (b onCards) Close() error {
	if g := opened.Load(); g != nil && g.device == b.Device {
		g.do(&call{Op: opLeave})
	}
	var errs []error
	for _, d := range b.all {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
