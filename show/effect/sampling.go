package effect

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
	"gpfit/show/plotting"
)

// Sampling says at which values a picture of functions along a column needs predictions, and how it shows them: as a line, as an
// envelope of strips if the picture is too small for a line, or not at all.
type Sampling struct {
	// Values ascend. There are none if no picture is true; Why then says why.
	Values []float64
	Why    string
	// strips are the numbers of the strips of an envelope in which the values are, nil for a line, and edges the edges of all strips.
	// separate shows points in place of a line.
	strips   []int
	edges    []float64
	separate bool
}

// Means returns the means of functions at values of a column.
type Means func(values []float64) ([][]float64, error)

const (
	// A line has at most mostLine values and an envelope a number of strips. They are true if no mean at mostMeans values at most,
	// or fewer for many rows, is farther off than the tolerance, a share of the range of the means.
	mostLine, strips, mostMeans = 1200, 120, 60_000
	tolerance                   = 0.01
	// Each strip has perStrip random values in a round. Beside these are up to mostKinks training values, where kernels have kinks.
	perStrip, mostKinks = 25, 6000
)

// Step returns the step of values along a column at which a line follows the model: a sixteenth of the shortest season, and half of
// the smallest lengthscale or of that which the lengthscale of a periodic kernel is along the column. It is +Inf without any.
func (c *Variable) Step(m *gp.Model) float64 {
	step := math.Inf(1)
	for _, season := range c.Seasons(m) {
		step = min(step, season/16)
	}
	prog, err := m.Program()
	if err != nil { // a kernel that this program does not know
		return step
	}
	at := slices.Index(m.Columns, c.First)
	value := func(p *kernel.Param, k int) float64 { return m.Theta[p.Offset+min(k, p.Size-1)] }
	for i := range prog.Params {
		p := &prog.Params[i]
		k := slices.Index(p.Dims, at)
		leaf, periodic := strings.CutSuffix(p.Name, "period")
		switch {
		case k < 0:
		case p.Kind == kernel.Lengthscale:
			step = min(step, value(p, k)*m.Scaling.XScale[at]/2)
		case periodic:
			for j := range prog.Params {
				if q := &prog.Params[j]; q.Name == leaf+"lengthscale" {
					step = min(step, value(p, k)*value(q, k)/(2*math.Pi)*m.Scaling.XScale[at]/2)
				}
			}
		}
	}
	return step
}

// Line returns at least some values of a line that follows the model: whole says over the whole range, and not only over its end.
func (c *Variable) Line(m *gp.Model, least int) (values []float64, whole bool) {
	part, step := *c, c.Step(m)
	points := max((c.High-c.Low)/step+1, float64(least))
	if whole = points <= mostLine; !whole {
		part.Low = c.High - (mostLine-1)*step
	}
	return part.Values(int(min(points, mostLine))), whole
}

// Seasons returns the periods of the model along the column.
func (c *Variable) Seasons(m *gp.Model) []float64 {
	seasons, _ := m.Seasons(slices.Index(m.Columns, c.First)) // none of a kernel that this program does not know
	return seasons
}

// Sample returns how a picture shows functions of the model from c.Low to c.High, with a line of some values at least.
func (c *Variable) Sample(m *gp.Model, least int, means Means) (*Sampling, error) {
	if c.Categories != nil || !(c.Low < c.High) {
		return Plain(c.Values(least), c.Categories != nil), nil
	}
	s := &sampler{Variable: c, means: means, rng: rand.New(rand.NewPCG(1, 2)), seasons: c.Seasons(m), step: c.Step(m)}
	s.seasons = slices.DeleteFunc(slices.Clone(s.seasons), func(p float64) bool { // half of one with a harmonic
		return slices.ContainsFunc(s.seasons, func(q float64) bool { return math.Abs(q-2*p) < 1e-6*p })
	})
	n := float64(m.N())
	s.left = int(min(mostMeans, max(1e8/n, mostMeans/6)))
	if m.Scaling.Transform != nil { // such means need deviations
		s.left = int(min(mostMeans, max(5e9/n/n, mostMeans/12)))
	}
	kinks := slices.DeleteFunc(c.training(m), func(v float64) bool { return v < c.Low || v > c.High })
	slices.Sort(kinks)
	kinks = slices.Compact(kinks)
	s.kinks = matrixrows.Values(kinks, Evenly(len(kinks), min(mostKinks, s.left/4)))
	first, _ := c.Line(m, least)
	for n := len(first); ; n = min(4*n, mostLine) {
		line := matrixrows.Spaced(c.Low, c.High, n)
		if ok, err := s.follows(line); ok || err != nil {
			return &Sampling{Values: line}, err
		}
		if n == mostLine {
			return s.envelope()
		}
	}
}

// Plain returns the sampling of a line at values, or of separate points.
func Plain(values []float64, separate bool) *Sampling {
	return &Sampling{Values: values, separate: separate}
}

// Evenly returns the indices of n elements, of more than most only some that are spread evenly.
func Evenly(n, most int) []int {
	out := make([]int, min(n, most))
	for i := range out {
		out[i] = i * n / len(out)
	}
	return out
}

// sampler finds a sampling.
type sampler struct {
	*Variable
	means         Means
	rng           *rand.Rand
	seasons       []float64
	step          float64
	kinks         []float64
	left          int // of the means
	lows, highs   [][]extreme
	smallest, big []float64 // of each function
}

// extreme is the lowest or highest mean in a strip.
type extreme struct{ at, value float64 }

// Between returns random values, several in each of n equal parts of the range from low to high.
func Between(low, high float64, rng *rand.Rand, n, times int) (values []float64) {
	for i := range n * times {
		share := (float64(i/times) + rng.Float64()) / float64(n)
		values = append(values, low*(1-share)+high*share)
	}
	return values
}

// follows reports whether the line through the means at equally spaced values is near the means between them.
func (s *sampler) follows(line []float64) (bool, error) {
	n, parts := len(line), float64(len(line)-1)
	at := slices.Concat(line, Between(s.Low, s.High, s.rng, n-1, 1), matrixrows.Values(s.kinks, Evenly(len(s.kinks), 500)))
	all, err := s.means(at)
	for _, mean := range all {
		off, most := 0.0, tolerance*spread(slices.Min(mean), slices.Max(mean))
		for i := n; i < len(at); i++ {
			place := (at[i] - s.Low) / (s.High - s.Low) * parts
			k := min(int(place), n-2)
			share := place - float64(k)
			off = max(off, math.Abs(mean[i]-mean[k]*(1-share)-mean[k+1]*share))
		}
		if off > most {
			return false, err
		}
	}
	return true, err
}

// spread returns the range of numbers from low to high, as far as rounding leaves one.
func spread(low, high float64) float64 {
	return high - low + 1e-9*max(-low, high, math.SmallestNonzeroFloat64)
}

// strip returns the strip of a value.
func (s *sampler) strip(v float64) int {
	return max(0, min(int((v-s.Low)/(s.High-s.Low)*strips), strips-1))
}

// add takes means at values into the envelope, and returns the farthest that one was outside, as a share of the range of its function.
func (s *sampler) add(values []float64) (outside float64, err error) {
	s.left -= len(values)
	all, err := s.means(values)
	if s.lows == nil {
		for range all {
			s.lows, s.highs = append(s.lows, make([]extreme, strips)), append(s.highs, make([]extreme, strips))
			s.smallest, s.big = append(s.smallest, math.Inf(1)), append(s.big, math.Inf(-1))
			for i := range strips {
				s.lows[len(s.lows)-1][i].value, s.highs[len(s.lows)-1][i].value = math.Inf(1), math.Inf(-1)
			}
		}
	}
	for t, mean := range all {
		off := 0.0
		for i, v := range mean {
			low, high := &s.lows[t][s.strip(values[i])], &s.highs[t][s.strip(values[i])]
			off = max(off, low.value-v, v-high.value)
			if v < low.value {
				*low = extreme{values[i], v}
			}
			if v > high.value {
				*high = extreme{values[i], v}
			}
		}
		s.smallest[t], s.big[t] = min(s.smallest[t], slices.Min(mean)), max(s.big[t], slices.Max(mean))
		outside = max(outside, off/spread(s.smallest[t], s.big[t]))
	}
	return outside, err
}

// turned returns values that lie whole turns of the seasons from the extremes, in their strips and beside them, and from the outermost
// ones in every strip.
func (s *sampler) turned(extremes [][]extreme) (values []float64) {
	const places = 12
	width := (s.High - s.Low) / strips
	for i, ofStrip := range extremes {
		most := slices.MaxFunc(ofStrip, func(a, b extreme) int { return cmp.Compare(a.value, b.value) })
		if i < len(s.lows) {
			most = slices.MinFunc(ofStrip, func(a, b extreme) int { return cmp.Compare(a.value, b.value) })
		}
		for k, e := range ofStrip {
			for _, season := range s.seasons {
				for to := range places {
					place := (float64(to)+s.rng.Float64())*1.5/places - 0.25 // from a strip's neighbours, too
					values = append(values, e.at+season*math.Round((s.Low+(float64(k)+place)*width-e.at)/season))
				}
				values = append(values, most.at+season*math.Round((s.Low+(float64(k)+0.5)*width-most.at)/season))
			}
		}
	}
	return slices.DeleteFunc(values, func(v float64) bool { return v < s.Low || v > s.High })
}

// refine looks for lower and higher means whole turns from the extremes, and around them, ever nearer.
func (s *sampler) refine() error {
	const rounds = 3
	step := min(s.step, (s.High-s.Low)/strips/perStrip)
	for round := range rounds + 1 {
		extremes := slices.Concat(s.lows, s.highs)
		values := s.turned(extremes)
		if round > 0 {
			values = nil
			for _, e := range slices.Concat(extremes...) {
				values = append(values, max(e.at-step, s.Low), min(e.at+step, s.High))
			}
			step /= 3
		}
		if len(values) == 0 {
			continue
		}
		if _, err := s.add(values); err != nil {
			return err
		}
	}
	return nil
}

// steps returns values a step apart: over the whole range if they take no more than half of the means, or else over one turn of the
// shortest season in each strip.
func (s *sampler) steps() (values []float64) {
	if points := (s.High - s.Low) / s.step; points < float64(s.left)/2 {
		return matrixrows.Spaced(s.Low, s.High, 2+int(points))
	}
	if len(s.seasons) == 0 {
		return nil
	}
	for _, start := range Between(s.Low, s.High, s.rng, strips, 1) {
		for k := range min(int(s.seasons[0]/s.step), s.left/2/strips) {
			values = append(values, min(start+float64(k)*s.step, s.High))
		}
	}
	return values
}

// envelope returns the strips with the lowest and the highest mean in each, once further random values are all within.
func (s *sampler) envelope() (*Sampling, error) {
	width := (s.High - s.Low) / strips
	lower, upper := matrixrows.Spaced(s.Low+1e-6*width, s.High-(1-1e-6)*width, strips), matrixrows.Spaced(s.Low+(1-1e-6)*width, s.High-1e-6*width, strips)
	if _, err := s.add(slices.Concat(Between(s.Low, s.High, s.rng, strips, perStrip), s.kinks, lower, upper, s.steps())); err != nil {
		return nil, err
	}
	for within := 0; s.left > 0; { // counts rounds
		if err := s.refine(); err != nil {
			return nil, err
		}
		outside, err := s.add(Between(s.Low, s.High, s.rng, strips, perStrip))
		if err != nil {
			return nil, err
		}
		if within++; outside > 0.7*tolerance {
			within = 0
		}
		if within == 2 {
			return s.found(), nil
		}
	}
	return &Sampling{Why: fmt.Sprintf("There is no picture along %s, because the mean changes too fast there: no number of predictions that a page can wait for finds its range.", s.Name)}, nil
}

// found returns the envelope: the values of its extremes, and one more of each strip.
func (s *sampler) found() *Sampling {
	out := &Sampling{Values: Between(s.Low, s.High, s.rng, strips, 1), edges: matrixrows.Spaced(s.Low, s.High, strips+1)}
	for _, e := range slices.Concat(slices.Concat(s.lows...), slices.Concat(s.highs...)) {
		out.Values = append(out.Values, e.at)
	}
	slices.Sort(out.Values)
	out.Values = slices.Compact(out.Values)
	for _, v := range out.Values {
		out.strips = append(out.strips, s.strip(v))
	}
	return out
}

// Envelope reports whether the picture has strips.
func (s *Sampling) Envelope() bool { return s.edges != nil }

// Layers draws means at the values with an interval: the interval comes first.
func (s *Sampling) Layers(interval string, mean, lower, upper []float64) []plotting.Layer {
	x := s.Values
	switch {
	case s.separate:
		return []plotting.Layer{&plotting.Errors{Name: interval, X: x, Lower: lower, Upper: upper}, &plotting.Points{Name: "mean", X: x, Y: mean}}
	case s.edges == nil:
		return []plotting.Layer{&plotting.Band{Name: interval, X: x, Lower: lower, Upper: upper}, &plotting.Line{Name: "mean", X: x, Y: mean}}
	}
	light, dark := &plotting.Band{Name: interval}, &plotting.Band{Name: "range of the mean within a strip", Dark: true}
	for from := 0; from < len(x); {
		k, end := s.strips[from], from
		for end < len(x) && s.strips[end] == k {
			end++
		}
		for _, at := range s.edges[k : k+2] {
			light.X, light.Lower, light.Upper = append(light.X, at), append(light.Lower, slices.Min(lower[from:end])), append(light.Upper, slices.Max(upper[from:end]))
			dark.X, dark.Lower, dark.Upper = append(dark.X, at), append(dark.Lower, slices.Min(mean[from:end])), append(dark.Upper, slices.Max(mean[from:end]))
		}
		from = end
	}
	return []plotting.Layer{light, dark}
}
