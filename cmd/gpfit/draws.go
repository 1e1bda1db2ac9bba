package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

// jointFlags ask for joint distributions of rows.
type jointFlags struct {
	cov      string
	draws    int
	seed     uint64
	observed bool
}

func (f *jointFlags) add(s *pflag.FlagSet, draws int) {
	s.IntVar(&f.draws, "draws", draws, "number of joint draws at the rows, columns draw0, draw1, …")
	s.Uint64Var(&f.seed, "seed", 1, "seed of the draws: the same seed gives the same ones")
	s.StringVar(&f.cov, "cov", "", "write the covariance of the rows to `FILE`: .npy, .npz (with the mean) or .csv")
	s.BoolVar(&f.observed, "observed", false, "draws and covariance are those of new observations, noise included (default: of the function)")
}

func (f *jointFlags) wanted() bool { return f.cov != "" || f.draws > 0 }

func (f *jointFlags) check() error {
	if f.draws < 0 {
		return usagef("--draws %d: must not be negative", f.draws)
	}
	switch filepath.Ext(f.cov) {
	case ".npy", ".npz", ".csv":
	default:
		if f.cov != "" {
			return usagef("--cov %s: the name must end in .npy, .npz or .csv", f.cov)
		}
	}
	return nil
}

// draw is what a joint distribution was used for.
type draw struct {
	columns []column
	// rank and dropped are those of [gp.Sampler], rows the full rank.
	rank, rows int
	dropped    float64
}

// use writes the covariance if that was asked for, and draws. The covariance is
// gone afterwards.
func (f *jointFlags) use(j *gp.Joint, msg *messages) (draw, error) {
	d := draw{rows: len(j.Mean)}
	if f.cov != "" {
		if err := atomicfile.Write(f.cov, func(w io.Writer) error { return writeCovariance(w, j, filepath.Ext(f.cov)) }); err != nil {
			return d, &writeError{err}
		}
		msg.note("covariance of %d rows written to %s", d.rows, f.cov)
	}
	if f.draws == 0 {
		return d, nil
	}
	s, err := j.Sampler()
	if err != nil {
		return d, err
	}
	d.rank, d.dropped = s.Rank, s.Dropped
	if s.Rank < d.rows {
		msg.note("the covariance of the %d rows is singular to working precision: draws have rank %d, and lack variances up to %.2g", d.rows, s.Rank, s.Dropped)
	}
	draws, err := s.Draw(f.draws, f.seed)
	if err != nil {
		return d, err
	}
	d.columns = drawColumns(draws, f.draws)
	return d, nil
}

// addJSON adds draws and how they were made to an object.
func (d draw) addJSON(object map[string]any, f *jointFlags) {
	if f.cov != "" {
		object["covariance_file"] = f.cov
	}
	if d.columns == nil {
		return
	}
	draws := make([][]float64, len(d.columns))
	for i, c := range d.columns {
		draws[i] = c.values
	}
	object["draws"], object["seed"], object["observed"] = draws, f.seed, f.observed
	object["rank"], object["dropped_variance"] = d.rank, d.dropped
}

func writeCovariance(w io.Writer, j *gp.Joint, extension string) error {
	m := len(j.Mean)
	b := bufio.NewWriterSize(w, 1<<20)
	cov := gp.NPYArray{Name: "cov", Shape: []int{m, m}, Values: j.Cov}
	var err error
	switch extension {
	case ".npy":
		err = cov.Write(b)
	case ".npz":
		err = gp.WriteNPZ(b, gp.NPYArray{Name: "mean", Shape: []int{m}, Values: j.Mean}, cov)
	default:
		for i := range m {
			if _, err = fmt.Fprintln(b, joinFloats(j.Cov[i*m:(i+1)*m])); err != nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

func joinFloats(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ",")
}
