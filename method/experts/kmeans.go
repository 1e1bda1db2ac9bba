package experts

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
)

const (
	// runs is the number of runs from different centres, of which the best counts.
	runs = 10
	// largeTable is the number of rows from which the runs use a sample of 8,000 rows, or
	// of sampleOfEach rows for each cluster if that is more, and only the best one goes on
	// with all rows.
	largeTable   = 8_000
	sampleOfEach = 100
	// mostPasses bounds the passes over the rows.
	mostPasses = 300
	// mostSwaps is the number of swaps, fewer if they would evaluate more than swapWork
	// coordinates, and swapPasses the number of passes after each.
	mostSwaps  = 1000
	swapWork   = 5e8
	swapPasses = 2
	// smallChange is the relative decrease of the inertia at which passes over a large
	// table end. Smaller tables are brought to a local minimum.
	smallChange = 1e-5
)

// kMeans divides points into k clusters of small inertia, the sum of the squared distances of
// the rows from their centres, which are the means of the clusters; fewer than k if there are
// fewer different rows. Each run begins with centres by greedy k-means++ (Arthur and
// Vassilvitskii 2007), improves them by Lloyd's algorithm, and then moves single rows as long
// as that lowers the inertia (Hartigan and Wong 1979). Random swaps improve the best run. The
// result depends only on the arguments.
func kMeans(all *points, k int, seed uint64) *clusters {
	on, sampled := all, max(largeTable, sampleOfEach*k)
	if all.n > sampled {
		on = all.sample(sampled, rand.New(rand.NewPCG(seed, 0x73616d706c65)))
	}
	var best *clusters
	for run := range runs {
		c := on.plusPlus(min(k, on.n), rand.New(rand.NewPCG(seed, 0x6b6d65616e73<<8+uint64(run))))
		c.lloyd(0)
		c.moveSingles()
		if best == nil || c.inertia < best.inertia {
			best = c
		}
	}
	best = best.swap(rand.New(rand.NewPCG(seed, 0x73776170)))
	if on != all {
		best = all.with(best.centres)
		best.lloyd(smallChange)
	}
	best.moveCentres()
	best.assign()
	return best
}

// points are the rows to divide.
type points struct {
	rows []float64
	n, d int
}

func (p *points) row(i int) []float64 { return p.rows[i*p.d : (i+1)*p.d] }

// pick returns some of the rows.
func (p *points) pick(which []int) *points {
	return &points{n: len(which), d: p.d, rows: matrixrows.Rows(p.rows, which, p.n, p.d)}
}

// sample draws rows without replacement.
func (p *points) sample(count int, rng *rand.Rand) *points {
	return p.pick(slices.Sorted(slices.Values(rng.Perm(p.n)[:count])))
}

// distance returns the squared distance of two rows.
func distance(a, b []float64) float64 {
	sum := 0.0
	for c, v := range a {
		sum += (v - b[c]) * (v - b[c])
	}
	return sum
}

// plusPlus chooses k centres among the rows, fewer if there are fewer different rows. Each
// is drawn with a probability proportional to the squared distance from the centres before
// it, the best of 2 + log k draws.
func (p *points) plusPlus(k int, rng *rand.Rand) *clusters {
	centres := [][]float64{slices.Clone(p.row(rng.IntN(p.n)))}
	nearest := make([]float64, p.n)
	total := p.toCentre(nearest, nil, centres[0])
	trials := 2 + int(math.Log(float64(k)))
	next := make([]float64, p.n)
	for len(centres) < k && total > 0 {
		var chosen []float64
		least, from := math.Inf(1), total
		kept := make([]float64, p.n)
		for range trials {
			i := draw(nearest, from*rng.Float64())
			if sum := p.toCentre(next, nearest, p.row(i)); sum < least {
				least, chosen = sum, p.row(i)
				kept, next = next, kept
			}
		}
		centres, total = append(centres, slices.Clone(chosen)), least
		nearest, next = kept, nearest
	}
	return p.with(centres)
}

// toCentre writes the squared distance of each row from a centre, or the distance in before
// if that is less, and returns the sum.
func (p *points) toCentre(into, before, centre []float64) float64 {
	sum := 0.0
	for i := range p.n {
		v := distance(p.row(i), centre)
		if before != nil {
			v = min(v, before[i])
		}
		into[i] = v
		sum += v
	}
	return sum
}

// draw returns the first index at which the running sum of weights exceeds at.
func draw(weights []float64, at float64) int {
	last := 0
	for i, w := range weights {
		if w > 0 {
			last = i
			if at -= w; at < 0 {
				break
			}
		}
	}
	return last
}

// clusters are the state of a run. of is the cluster of each row, with the nearest centre.
type clusters struct {
	*points
	centres   [][]float64
	of, count []int
	apart     []float64 // of each row from its centre, squared
	inertia   float64
}

// with returns the clusters of the rows around centres.
func (p *points) with(centres [][]float64) *clusters {
	c := &clusters{points: p, of: make([]int, p.n), apart: make([]float64, p.n), count: make([]int, len(centres)), centres: copied(centres)}
	c.assign()
	return c
}

func copied(centres [][]float64) [][]float64 {
	return each.Of(centres, slices.Clone)
}

// assign gives each row to its nearest centre, the first of several.
func (c *clusters) assign() {
	pieces := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for piece := range pieces {
		wait.Go(func() {
			for i := piece * c.n / pieces; i < (piece+1)*c.n/pieces; i++ {
				c.of[i], c.apart[i] = nearest(c.row(i), c.centres)
			}
		})
	}
	wait.Wait()
	c.inertia = 0
	clear(c.count)
	for i, k := range c.of {
		c.inertia += c.apart[i]
		c.count[k]++
	}
}

// nearest returns the centre nearest to a row, and its squared distance.
func nearest(row []float64, centres [][]float64) (k int, apart float64) {
	apart = math.Inf(1)
	for q, centre := range centres {
		if v := distance(row, centre); v < apart {
			k, apart = q, v
		}
	}
	return k, apart
}

// lloyd moves the centres to the means of their rows and assigns the rows again. It stops when
// the inertia falls by less than the given share of itself; for 0, when it does not fall.
func (c *clusters) lloyd(change float64) {
	for range mostPasses {
		before := c.inertia
		c.moveCentres()
		c.assign()
		if !(c.inertia < before-change*before) {
			return
		}
	}
}

// moveCentres sets the centres to the means of their rows. A centre without rows goes to
// the row that is farthest from its own.
func (c *clusters) moveCentres() {
	for _, centre := range c.centres {
		clear(centre)
	}
	for i, k := range c.of {
		for q, v := range c.row(i) {
			c.centres[k][q] += v
		}
	}
	for k, centre := range c.centres {
		if c.count[k] == 0 {
			far := floats.MaxIdx(c.apart)
			copy(centre, c.row(far))
			c.apart[far] = 0
			continue
		}
		for q := range centre {
			centre[q] /= float64(c.count[k])
		}
	}
}

// moveSingles moves rows to other clusters as long as that lowers the inertia. A row at the
// squared distance a from its centre, of m rows, adds m/(m−1)·a to the inertia of its
// cluster, and would add m′/(m′+1)·a′ to another.
func (c *clusters) moveSingles() {
	for range mostPasses {
		c.moveCentres()
		moved := false
		for i, from := range c.of {
			if c.count[from] < 2 {
				continue
			}
			row, m := c.row(i), float64(c.count[from])
			gain := m / (m - 1) * distance(row, c.centres[from])
			to := from
			for k, centre := range c.centres {
				m := float64(c.count[k])
				// Rounding shall not move rows to and fro.
				if cost := m / (m + 1) * distance(row, centre); k != from && cost < gain*(1-1e-12) {
					gain, to = cost, k
				}
			}
			if to != from {
				c.move(i, from, to)
				moved = true
			}
		}
		c.assign()
		if !moved {
			return
		}
	}
}

// swap improves the clusters by random swaps (Fränti 2018): a centre moves to a row drawn as
// in k-means++, a few passes of Lloyd's algorithm follow, and the result counts if it is
// better. At the end all improvements of a run follow once more.
func (c *clusters) swap(rng *rand.Rand) *clusters {
	if len(c.centres) < 2 {
		return c
	}
	best := c
	pass := float64(c.n) * float64(c.d) * float64(len(c.centres))
	for range int(min(mostSwaps, swapWork/(pass*(swapPasses+1)))) {
		trial := best.clone()
		copy(trial.centres[rng.IntN(len(trial.centres))], trial.row(draw(trial.apart, trial.inertia*rng.Float64())))
		trial.assign()
		for range swapPasses {
			trial.moveCentres()
			trial.assign()
		}
		if trial.inertia < best.inertia {
			best = trial
		}
	}
	if best == c {
		return c
	}
	best.lloyd(0)
	best.moveSingles()
	if best.inertia < c.inertia {
		return best
	}
	return c
}

// clone returns clusters that can change without the original.
func (c *clusters) clone() *clusters {
	out := *c
	out.of, out.count, out.apart, out.centres = slices.Clone(c.of), slices.Clone(c.count), slices.Clone(c.apart), copied(c.centres)
	return &out
}

// move moves a row and the means of its two clusters.
func (c *clusters) move(i, from, to int) {
	c.of[i] = to
	c.count[from]--
	c.count[to]++
	for q, v := range c.row(i) {
		c.centres[from][q] -= (v - c.centres[from][q]) / float64(c.count[from])
		c.centres[to][q] += (v - c.centres[to][q]) / float64(c.count[to])
	}
}
