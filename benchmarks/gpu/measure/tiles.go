package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"gpfit/compare/speed"
	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
	"gpfit/method/tiles"
)

// The ways of `measure tiles` to compute a value with gradient.
const (
	byDense = "dense" // the method dense, on the first device
	byTiles = "tiles" // the method tiles, with all memory of the devices
	byHost  = "host"  // the method tiles, with so little memory that a share of the tiles is on the host
)

// The largest differences of the value and of the gradient between ways, relative, and of residual and identity.
const (
	sameValue    = 1e-10
	sameGradient = 1e-9
	mostResidual = 1e-8
)

// tilesResult is a line of `measure tiles`: one way at one n. Seconds are medians.
type tilesResult struct {
	Type   string `json:"type"`
	Way    string `json:"way"`
	Device string `json:"device"`
	N      int    `json:"n"`
	D      int    `json:"d"`
	Kernel string `json:"kernel"`
	Repeat int    `json:"repeat"`
	// Open is the time to make the workspace, and so to lock the memory of the host.
	Open       float64            `json:"seconds_open"`
	Seconds    float64            `json:"seconds_value_gradient"`
	AllSeconds []float64          `json:"all_seconds_value_gradient"`
	GFlops     float64            `json:"gflops"` // n³ operations over Seconds
	NLML       float64            `json:"nlml"`
	Gradient   map[string]float64 `json:"gradient_log"`
	// Residual is the largest |Σα − y| of some rows, with Σ recomputed on the host. Identity is how far the derivatives by the
	// logs of the two variances are from their sum ½(n − yᵀα), relative to n.
	Residual float64 `json:"residual"`
	Identity float64 `json:"identity"`
	// NLMLDifference and GradientDifference compare with the first way at this n.
	NLMLDifference     float64 `json:"nlml_difference"`
	GradientDifference float64 `json:"gradient_difference"`
	OK                 bool    `json:"ok"`
	// Order is the order of a tile. Limit is the memory of each device that may be used, 0 for all.
	Order       int   `json:"order"`
	Tiles       int   `json:"tiles"`
	TilesOnHost int64 `json:"tiles_on_host"` // with a row for predictions
	Limit       int64 `json:"memory_limit"`
	LoadedBytes int64 `json:"loaded_bytes"` // in an evaluation, from the host
	PeerBytes   int64 `json:"peer_bytes"`
	StoredBytes int64 `json:"stored_bytes"`
	// Copies is the time of the same copies without computing. Hidden is the share of it by which the evaluation takes less than
	// both one after the other: than Copies and the evaluation with all tiles on one card.
	Copies float64  `json:"seconds_copies"`
	Hidden *float64 `json:"hidden"`
}

// tiled is an open way.
type tiled struct {
	tilesResult
	ws    device.Workspace
	cards []*card
	alpha []float64
}

// tilesProblem is a problem that ways compute.
type tilesProblem struct {
	*job
	p *likelihood
}

func (j *job) tiles() error {
	for _, name := range strings.Split(j.ways, ",") {
		if !slices.Contains([]string{byDense, byTiles, byHost}, name) {
			return fmt.Errorf("tiles: no way %q", name)
		}
	}
	return j.each(func(n int) error {
		results, err := j.tilesAt(n)
		if errors.As(err, new(*device.MemoryError)) || errors.As(err, new(*device.UnavailableError)) {
			j.emit(map[string]any{"type": "skipped", "n": n, "why": err.Error()})
			return nil
		}
		for _, r := range results {
			j.emit(r)
			if !r.OK {
				err = errors.Join(err, fmt.Errorf("%s: another result than by %s, or a large residual", r.Way, results[0].Way))
			}
		}
		return err
	})
}

// tilesAt measures all ways after a warm-up.
func (j *job) tilesAt(n int) ([]tilesResult, error) {
	const few = 4 * warmLarge // a warm-up with more rows would take long
	p, err := j.problem(n)
	if err != nil {
		return nil, err
	}
	if n <= few {
		return tilesProblem{j, p}.measure(j.repeat, 1)
	}
	small, err := j.problem(warmLarge)
	if err == nil {
		_, err = tilesProblem{j, small}.measure(1, 0)
	}
	if err != nil {
		return nil, err
	}
	return tilesProblem{j, p}.measure(j.repeat, 0)
}

// measure evaluates by all ways in turn.
func (j tilesProblem) measure(repeat, warm int) (results []tilesResult, err error) {
	var ways []*tiled
	defer func() {
		for _, w := range ways {
			err = errors.Join(err, w.ws.Close())
		}
	}()
	for _, name := range strings.Split(j.ways, ",") {
		w, err := j.open(name)
		if err != nil {
			return nil, err
		}
		ways = append(ways, w)
	}
	for turn := -warm; turn < repeat; turn++ {
		for _, w := range ways {
			if err := j.evaluate(w, turn >= 0); err != nil {
				return nil, fmt.Errorf("%s: %w", w.Way, err)
			}
		}
	}
	for _, w := range ways {
		if err := j.finish(w, repeat); err != nil {
			return nil, fmt.Errorf("%s: %w", w.Way, err)
		}
		w.compare(ways)
		results = append(results, w.tilesResult)
	}
	return results, nil
}

// open makes the workspace of a way.
func (j tilesProblem) open(name string) (*tiled, error) {
	w := &tiled{tilesResult: tilesResult{Type: "tiles", Way: name, N: j.p.x.N, D: j.d, Kernel: j.p.prog.Text}}
	b, err := j.b, error(nil)
	if name == byHost {
		if w.Limit, err = j.limit(); err != nil {
			return nil, err
		}
	}
	switch name {
	case byTiles, byHost:
		b, w.cards, err = tilesOn(j.all, j.order, w.Limit)
	}
	if err != nil {
		return nil, err
	}
	w.Device = b.Info().Name
	start := time.Now()
	w.ws, err = b.NewWorkspace(j.ctx, j.p.x)
	w.Open = time.Since(start).Seconds()
	return w, err
}

// tilesOn returns the method tiles on the devices of backends, which may use so much memory each.
func tilesOn(all []device.Backend, order int, limit int64) (device.Backend, []*card, error) {
	var cards []*card
	var on []device.Device
	for _, b := range all {
		for _, d := range b.Capabilities().Devices {
			t, ok := d.(tiling.Device)
			if !ok {
				return nil, nil, fmt.Errorf("%s cannot compute with tiles", d.Info().Name)
			}
			c := &card{Device: t, memory: limit}
			cards, on = append(cards, c), append(on, c)
		}
	}
	found, err := tiles.Method{Order: order}.Backends(on)
	if err != nil {
		return nil, nil, err
	}
	return found[0], cards, nil
}

// limit returns with how much memory of each device about the share j.onHost of the tiles is on the host.
func (j tilesProblem) limit() (int64, error) {
	info := j.b.Info()
	if info.Host || info.MemoryFree == 0 {
		return 0, fmt.Errorf("%s: the memory for tiles cannot be limited", info.Name)
	}
	load := device.Workload{N: j.p.x.N, D: j.d}
	one, cards, err := tilesOn(j.all[:1], j.order, math.MaxInt64/4)
	if err != nil {
		return 0, err
	}
	_, rest := cards[0].TileSpace(j.p.x.N, j.d, tiling.Unit)
	most := j.onHost * float64(one.Plan(load).DeviceBytes()-rest)
	limit := sort.Search(int(info.MemoryFree), func(bytes int) bool {
		b, _, err := tilesOn(j.all, j.order, int64(bytes)+1)
		if err != nil {
			return false
		}
		plan := b.Plan(load)
		return device.Room(b, plan) == nil && float64(plan.HostBytes()) <= most
	})
	return int64(limit) + 1, nil
}

// evaluate computes a value with gradient.
func (j tilesProblem) evaluate(w *tiled, timed bool) error {
	for _, c := range w.cards {
		c.bank.loaded, c.bank.peered, c.bank.stored = 0, 0, 0
	}
	start := time.Now()
	if err := j.p.form(j.ctx, w.ws); err != nil {
		return err
	}
	value, alpha, err := j.p.solve(j.ctx, w.ws)
	if err != nil {
		return err
	}
	gradient, err := j.p.gradient(j.ctx, w.ws, alpha)
	if timed {
		w.AllSeconds = append(w.AllSeconds, time.Since(start).Seconds())
		w.NLML, w.alpha, w.Gradient = value, alpha, gradient
	}
	return err
}

// finish fills the result, and measures the copies alone.
func (j tilesProblem) finish(w *tiled, repeat int) error {
	n := float64(j.p.x.N)
	w.Repeat, w.Seconds = repeat, speed.Median(w.AllSeconds)
	w.GFlops = n * n * n / w.Seconds / 1e9
	w.Residual, w.Identity = finite(j.p.rowResidual(w.alpha, sample(j.p.x.N, j.rows))), finite(j.p.identity(w.alpha, w.Gradient))
	for _, c := range w.cards {
		w.Order, w.TilesOnHost = c.bank.order, c.bank.hosted
		w.LoadedBytes += c.bank.loaded
		w.PeerBytes += c.bank.peered
		w.StoredBytes += c.bank.stored
	}
	if w.Order > 0 {
		side := (j.p.x.N + w.Order - 1) / w.Order
		w.Tiles = side * (side + 1) / 2
	}
	if w.LoadedBytes+w.PeerBytes == 0 {
		return nil
	}
	idle := *w
	idle.AllSeconds = nil
	for _, c := range w.cards {
		c.bank.idle = true
	}
	for range repeat {
		if err := j.evaluate(&idle, true); err != nil {
			return err
		}
	}
	w.Copies = speed.Median(idle.AllSeconds)
	return nil
}

// compare compares with the first way, and with a way that copies nothing.
func (w *tiled) compare(ways []*tiled) {
	first, scale, worst := ways[0], 0.0, 0.0
	for name, v := range first.Gradient {
		scale, worst = max(scale, math.Abs(v)), max(worst, math.Abs(w.Gradient[name]-v))
	}
	w.NLMLDifference, w.GradientDifference = finite(math.Abs(w.NLML-first.NLML)/math.Abs(first.NLML)), finite(worst/scale)
	w.OK = w.NLMLDifference <= sameValue && w.GradientDifference <= sameGradient && w.Residual <= mostResidual && w.Identity <= mostResidual
	for _, other := range ways {
		if w.Way == byHost && other.Way == byTiles && other.Copies == 0 && w.Copies > 0 {
			hidden := min(1, max(0, (other.Seconds+w.Copies-w.Seconds)/w.Copies))
			w.Hidden = &hidden
		}
	}
}

// rowResidual returns the largest |Σα − y| of some rows.
func (p *likelihood) rowResidual(alpha []float64, rows []int) float64 {
	e := kernel.NewEvaluator(p.prog)
	e.Bind(p.theta)
	row, worst := make([]float64, p.x.N), 0.0
	for _, i := range rows {
		e.Row(row, p.x, i, p.x, 0, p.x.N)
		worst = max(worst, math.Abs(floats.Dot(row, alpha)+p.noise[0]*alpha[i]-p.y[i])) // NaN stays
	}
	return worst
}

// identity returns how far the sum of the derivatives by the logs of the variances is from ½ tr(Σ⁻¹Σ) − ½ yᵀα, relative to n.
// It is 0 for kernels that are no multiple of one variance.
func (p *likelihood) identity(alpha []float64, gradient map[string]float64) float64 {
	found, sum := 0, gradient["noise_variance"]
	for i, name := range p.prog.Names() {
		for _, param := range p.prog.Params {
			if param.Kind == kernel.Variance && param.Offset <= i && i < param.Offset+param.Size {
				found++
				sum += gradient[name]
			}
		}
	}
	if found != 1 {
		return 0
	}
	n := float64(p.x.N)
	return math.Abs(sum-(n-floats.Dot(p.y, alpha))/2) / n
}
