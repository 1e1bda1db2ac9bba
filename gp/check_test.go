package gp

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gpfit/gp/modeltest"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
	"gpfit/method/experts"
)

// checkedModels are models of every kind with n rows or a few more, each with the weights of its data.
func checkedModels(t *testing.T, n int) map[string]*Model {
	out := exportModels(t)
	for name := range out {
		if strings.Contains(name, "experts") && !strings.Contains(name, "rbcm") {
			delete(out, name) // the rule is nothing to them
		}
	}
	for name, m := range variants(t, n) {
		out[name] = m
	}
	for name, m := range version2Models(t) {
		out[name] = m
	}
	out["encoding"], _ = encodedModel(t)
	logs := newModel(t, n)
	logs.Scaling.Transform = &transform.Map{Kind: transform.Log, Unit: 100}
	logs.Scaling.YMean, logs.Scaling.YScale = 0, 0.03
	drawn := newModel(t, n)
	drawn.Draws = &Draws{Method: "laplace", Theta: [][]float64{drawn.Theta, drawn.Theta}, Noise: [][]float64{{0.05}, {0.06}}}
	out["transform"], out["groups"], out["draws"] = logs, noisyModel(t, n), drawn
	for name, m := range out {
		out[name] = settled(t, m)
	}
	return out
}

// TestCheck checks that models of every kind pass, and that none does of which one number of the data,
// the weights, the noise or the factor has another value.
func TestCheck(t *testing.T) {
	for name, m := range checkedModels(t, 20) {
		path := saved(t, m.Save)
		if m.State.Method == "" {
			path = saved(t, condition(t, m).SaveWithFactor)
		}
		c, err := Check(t.Context(), path, experts.Blocks)
		if err != nil || c.N != m.N() || c.Equations != m.N() || c.FactorRows != 0 != (m.State.Method == "") {
			t.Errorf("%s: %+v, %v", name, c, err)
			continue
		}
		rng := rand.New(rand.NewPCG(1, 1))
		file := testcheck.Get(os.ReadFile(path))(t)
		for _, array := range []string{"X", "y", "alpha", "noise", "factor"} {
			if array == "factor" && c.FactorRows == 0 || array == "noise" && m.TrainNoise == nil {
				continue
			}
			for range 4 {
				at := 0
				edited := modeltest.Numbers(t, file, array, func(v []float64) {
					at = rng.IntN(len(v))
					if array == "factor" {
						at = rng.IntN(m.N())
						at = at*m.N() + rng.IntN(at+1) // the upper half is not part of L
					}
					v[at] += 1e-3 * max(1, math.Abs(v[at]))
				})
				testcheck.Do(t, os.WriteFile(path, edited, 0o600))
				if _, err := Check(t.Context(), path, experts.Blocks); !errors.As(err, new(*FileError)) || !strings.Contains(err.Error(), "were changed after the fit") {
					t.Errorf("%s: element %d of %s was changed: %v", name, at, array, err)
				}
			}
		}
	}
}

// counter counts the bytes that are read.
type counter struct {
	io.ReaderAt
	bytes int64
}

func (c *counter) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.bytes += int64(n)
	return n, err
}

// TestReadsOnce checks that every byte of a model is read once, and the texts and the directory, which are
// few, a second time.
func TestReadsOnce(t *testing.T) {
	m := newModel(t, 300)
	path := saved(t, condition(t, m).SaveWithFactor)
	testcheck.Do(t, withFile(path, func(f io.ReaderAt, size int64) error {
		for _, factor := range []func(*Model, io.Reader) error{nil, func(m *Model, rows io.Reader) error {
			c := &checker{path: path, model: m}
			testcheck.Do(t, c.prepare())
			return c.factor(t.Context(), rows)
		}} {
			c := &counter{ReaderAt: f}
			_, _, err := load(c, size, path, nil, factor)
			if most := size + 16<<10; c.bytes > most || c.bytes < size {
				t.Errorf("%d bytes read of %d", c.bytes, size)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestCheckGroups changes an estimated variance, by which a model predicts: its rows have another one.
func TestCheckGroups(t *testing.T) {
	m := noisyModel(t, 20)
	m.Noise.Column = ""
	for i := range m.TrainNoise {
		m.TrainNoise[i] = m.Noise.Variances[i%len(m.Noise.Variances)]
	}
	m = settled(t, m)
	if _, err := Check(t.Context(), saved(t, m.Save), nil); err != nil {
		t.Fatal(err)
	}
	m.Noise.Variances[1] *= 1.01
	if _, err := Check(t.Context(), saved(t, m.Save), nil); !errors.As(err, new(*FileError)) || !strings.Contains(err.Error(), "is none of those of the model") {
		t.Error(err)
	}
}
