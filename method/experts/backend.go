package experts

import (
	"fmt"
	"slices"

	"gpfit/device"
)

// On returns a backend that computes with the experts of p, each on b. Its workspaces hold
// the covariance of any points of the same columns, such as a part of the training rows; a
// point belongs to the nearest centre. Closing it closes b.
func (p *Partition) On(b device.Backend) device.Backend { return &backend{b, p} }

type backend struct {
	device.Backend
	partition *Partition
}

// Capabilities implements [device.Backend].
func (b *backend) Capabilities() device.Capabilities {
	c := b.Backend.Capabilities()
	c.Method, c.Exact = Name, false
	return c
}

// Supports implements [device.Backend].
func (b *backend) Supports(w device.Workload) error {
	if w.Blocks != nil {
		return &device.UnsupportedError{Method: Name, What: "blocks of the inverse, which folds and places of several rows need"}
	}
	w.Points = nil
	return b.Backend.Supports(w)
}

// Plan implements [device.Backend]. It divides any number of points in the proportions of
// the training rows.
func (b *backend) Plan(w device.Workload) device.Plan {
	total := 0
	for _, size := range b.partition.Sizes {
		total += size
	}
	counts := slices.Clone(b.partition.Sizes)
	for k := range counts {
		counts[k] = int((int64(counts[k])*int64(w.N) + int64(total) - 1) / int64(max(total, 1)))
	}
	return b.plan(w, counts)
}

// plan adds the plans of experts with these numbers of points.
func (b *backend) plan(w device.Workload, counts []int) device.Plan {
	n := w.N
	w.Points, w.N = nil, max(slices.Max(counts), 1)
	sum := b.Backend.Plan(w)
	sum.N, sum.Needs, sum.FlopsValue, sum.FlopsGradient = n, nil, 0, 0
	for _, count := range counts {
		if count == 0 {
			continue
		}
		w.N = count
		one := b.Backend.Plan(w)
		sum.FlopsValue += one.FlopsValue
		sum.FlopsGradient += one.FlopsGradient
		sum.Needs = addNeeds(sum.Needs, one.Needs)
	}
	what := fmt.Sprintf("%d local experts, the largest with a %d×%d matrix of 8-byte numbers", len(counts), slices.Max(counts), slices.Max(counts))
	for i := range sum.Needs {
		sum.Needs[i].What = what
	}
	return sum
}

// addNeeds adds needs by their devices.
func addNeeds(all, more []device.Need) []device.Need {
	for _, need := range more {
		i := slices.IndexFunc(all, func(n device.Need) bool { return n.Device == need.Device })
		if i < 0 {
			all = append(all, need)
		} else {
			all[i].Bytes += need.Bytes
		}
	}
	return all
}
