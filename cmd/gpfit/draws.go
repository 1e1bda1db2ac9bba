package main

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"strconv"
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

// use writes the covariance if that was asked for, and adds draws to r. The
// covariance is gone afterwards. target is the target's name where a model has
// several: their draws are independent.
func (f *jointFlags) use(j *gp.Joint, r *part, target string, msg *messages) error {
	m := len(j.Mean)
	if f.cov != "" {
		path := f.covPath(r.target)
		if err := atomicfile.Write(path, func(w io.Writer) error { return writeCovariance(w, j, filepath.Ext(path)) }); err != nil {
			return &writeError{err}
		}
		msg.note("covariance of %d rows written to %s", m, path)
		r.info["covariance_file"] = path
	}
	if f.draws == 0 {
		return nil
	}
	s, err := j.Sampler()
	if err != nil {
		return err
	}
	if s.Rank < m {
		msg.note("the covariance of the %d rows is singular to working precision: draws have rank %d, and lack variances up to %.2g", m, s.Rank, s.Dropped)
	}
	values, err := s.Draw(f.draws, f.seedOf(target))
	if err != nil {
		return err
	}
	draws := make([][]float64, f.draws)
	for d := range draws {
		draws[d] = values[d*m : (d+1)*m]
		r.columns = append(r.columns, column{name: "draw" + strconv.Itoa(d), values: draws[d]})
	}
	r.info["draws"], r.info["seed"], r.info["observed"] = draws, f.seed, f.observed
	r.info["rank"], r.info["dropped_variance"] = s.Rank, s.Dropped
	return nil
}

// seedOf is the seed itself for a single target.
func (f *jointFlags) seedOf(target string) uint64 {
	if target == "" {
		return f.seed
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(target)) // never fails
	return f.seed ^ h.Sum64()
}

// covPath is the file of a target's covariance: of several, NAME.TARGET.npy.
func (f *jointFlags) covPath(target string) string {
	if target == "" {
		return f.cov
	}
	extension := filepath.Ext(f.cov)
	return strings.TrimSuffix(f.cov, extension) + "." + target + extension
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
