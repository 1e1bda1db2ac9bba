package experts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/kernel"
)

// Partition divides points among experts: each point belongs to the nearest centre.
type Partition struct {
	// Combine is the rule for predictions. Chosen means that Scores decide about it.
	Combine Rule `json:"combine"`
	Chosen  bool `json:"combine_chosen,omitempty"`
	// Centres are the experts' centres, in scaled inputs. Sizes are the numbers of their
	// training rows.
	Centres [][]float64 `json:"centres"`
	Sizes   []int       `json:"sizes"`
	// Clusters is the number of clusters that k-means was asked for, Seed its seed and
	// Inertia the sum of the squared distances of the training rows from the centres.
	Clusters int     `json:"clusters"`
	Seed     uint64  `json:"seed"`
	Inertia  float64 `json:"inertia"`
	// Split counts the clusters that had too many rows and were divided again, Merged the
	// clusters that had too few and went to their neighbours.
	Split  int `json:"split,omitempty"`
	Merged int `json:"merged,omitempty"`
	// Temperature belongs to the rule [RBCM]; 0 stands for 1. Scores compare the rules on training
	// rows that they leave out; nil if there is one expert. [Calibrate] finds both.
	Temperature float64     `json:"temperature,omitempty"`
	Scores      []RuleScore `json:"scores,omitempty"`
}

// PartitionOptions configures [NewPartition].
type PartitionOptions struct {
	// Clusters is the number of clusters to find.
	Clusters int
	// MaxRows is the largest number of rows of an expert; 0 means twice the mean.
	MaxRows int
	// Combine is the rule for predictions; empty means the rule that predicts better, and [RBCM] until
	// that is known.
	Combine Rule
	Seed    uint64
}

const (
	// wide is the default of PartitionOptions.MaxRows, in units of the mean: no expert costs
	// more than eight times an average one.
	wide = 2
	// narrow is the share of the mean below which a cluster is too small for an expert.
	narrow = 0.1
	// mostRounds bounds how often clusters are divided.
	mostRounds = 30
)

// ParseMethod reads the number of clusters from a text such as kmeans:20.
func ParseMethod(text string) (clusters int, err error) {
	number, ok := strings.CutPrefix(text, "kmeans:")
	if ok {
		clusters, err = strconv.Atoi(number)
	}
	if !ok || err != nil || clusters < 1 {
		return 0, fmt.Errorf("must be kmeans:K with the number of clusters K, such as kmeans:20")
	}
	return clusters, nil
}

// NewPartition divides n rows of d columns, row-major. A cluster with more than MaxRows rows
// is divided again. A cluster with fewer than a tenth of the mean goes to its neighbours if
// they stay below MaxRows.
func NewPartition(rows []float64, n, d int, o PartitionOptions) *Partition {
	k := min(o.Clusters, n)
	if o.MaxRows < 1 {
		o.MaxRows = wide * ((n + k - 1) / k)
	}
	p := &Partition{Combine: cmp.Or(o.Combine, RBCM), Chosen: o.Combine == "", Clusters: o.Clusters, Seed: o.Seed}
	all := &points{rows: rows, n: n, d: d}
	c := p.divide(kMeans(all, k, o.Seed), o.MaxRows)
	c = p.merge(c, o.MaxRows, int(narrow*float64(n)/float64(len(c.centres))))
	p.Centres, p.Sizes, p.Inertia = c.centres, c.count, c.inertia
	return p
}

// divide replaces the centre of each cluster with more than most rows by several, until
// there is no such cluster or it cannot be divided because its rows are the same.
func (p *Partition) divide(c *clusters, most int) *clusters {
	for round := range mostRounds {
		var centres [][]float64
		for k, centre := range c.centres {
			if c.count[k] <= most {
				centres = append(centres, centre)
				continue
			}
			var own []int
			for i, of := range c.of {
				if of == k {
					own = append(own, i)
				}
			}
			// A piece that is a little too large needs one more centre, or the next round
			// finds it again.
			found := kMeans(c.pick(own), (len(own)+most-1)/most+round/2, p.Seed).centres
			if len(found) > 1 {
				p.Split++
			}
			centres = append(centres, found...)
		}
		if len(centres) == len(c.centres) {
			return c
		}
		c = c.with(centres)
	}
	return c
}

// merge removes the centres of clusters with fewer than least rows, smallest first, unless
// a neighbour would get more than most.
func (p *Partition) merge(c *clusters, most, least int) *clusters {
	kept := map[int]bool{} // indices of centres that stay, by their number of rows
	for len(c.centres) > 1 {
		small := -1
		for k, count := range c.count {
			if count < max(least, 1) && !kept[k] && (small < 0 || count < c.count[small]) {
				small = k
			}
		}
		if small < 0 {
			return c
		}
		without := c.with(slices.Delete(slices.Clone(c.centres), small, small+1))
		if c.count[small] > 0 && slices.Max(without.count) > max(most, slices.Max(c.count)) {
			kept[small] = true
			continue
		}
		c, kept = without, map[int]bool{}
		p.Merged++
	}
	return c
}

// Largest returns the number of rows of the largest expert.
func (p *Partition) Largest() int { return slices.Max(p.Sizes) }

// Several reports whether there are several experts, whose rows have no covariance. An only one is the exact process.
func (p *Partition) Several() bool { return p != nil && len(p.Centres) > 1 }

// Check returns an error if the partition is not one of n rows of d columns.
func (p *Partition) Check(n, d int) error {
	sum := 0
	for _, size := range p.Sizes {
		if size < 0 {
			return fmt.Errorf("an expert has %d rows", size)
		}
		sum += size
	}
	if len(p.Centres) == 0 || len(p.Sizes) != len(p.Centres) || sum != n {
		return fmt.Errorf("%d experts with %d sizes, together %d of %d rows", len(p.Centres), len(p.Sizes), sum, n)
	}
	for k, centre := range p.Centres {
		if len(centre) != d {
			return fmt.Errorf("the centre of expert %d has %d of %d columns", k, len(centre), d)
		}
		if slices.ContainsFunc(centre, func(v float64) bool { return v-v != 0 }) {
			return fmt.Errorf("the centre of expert %d is %v", k, centre)
		}
	}
	if !(p.Temperature >= 0) || math.IsInf(p.Temperature, 0) {
		return fmt.Errorf("the temperature is %v", p.Temperature)
	}
	return p.Combine.Check()
}

// RuleScore says how well a rule predicts training rows that it leaves out, in scaled units.
type RuleScore struct {
	Combine Rule `json:"combine"`
	// Rows is the number of rows, drawn at random.
	Rows int `json:"rows"`
	// RMSE is the root mean squared error, NLPD the mean negative log predictive density and
	// Coverage95 the share of targets in their 95 % interval.
	RMSE       float64 `json:"rmse"`
	NLPD       float64 `json:"nlpd"`
	Coverage95 float64 `json:"coverage95"`
}

// Assign returns the expert of each point: the expert whose centre is nearest.
func (p *Partition) Assign(x *kernel.Points) []int {
	of, row := make([]int, x.N), make([]float64, x.D)
	for i := range of {
		of[i], _ = nearest(point(row, x, i), p.Centres)
	}
	return of
}

// point copies point i to row.
func point(row []float64, x *kernel.Points, i int) []float64 {
	for c := range row {
		row[c] = x.X[c*x.N+i]
	}
	return row
}
