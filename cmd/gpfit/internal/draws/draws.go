// Package draws writes joint distributions of rows: draws as columns of a result,
// and covariances as files.
package draws

import (
	"bufio"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
)

// Flags ask for joint distributions.
type Flags struct {
	Draws    int
	Observed bool
	// Cov is the file of the covariance, "" for none.
	Cov  string
	seed uint64
}

// Add declares the flags, with a default number of draws.
func (f *Flags) Add(s *pflag.FlagSet, draws int) {
	s.IntVar(&f.Draws, "draws", draws, "number of joint draws at the rows, columns draw0, draw1, …")
	s.Uint64Var(&f.seed, "seed", 1, "seed of the draws: the same seed gives the same ones")
	s.StringVar(&f.Cov, "cov", "", "write the covariance of the rows to `FILE`: .npy, .npz (with the mean) or .csv")
	s.BoolVar(&f.Observed, "observed", false, "draws and covariance are those of new observations, noise included (default: of the function)")
}

// Wanted says whether the flags ask for anything.
func (f *Flags) Wanted() bool { return f.Cov != "" || f.Draws > 0 }

// Check finds mistakes in the flags.
func (f *Flags) Check() error {
	if f.Draws < 0 {
		return exit.Usagef("--draws %d: must not be negative", f.Draws)
	}
	if f.Cov != "" && !slices.Contains([]string{".npy", ".npz", ".csv"}, filepath.Ext(f.Cov)) {
		return exit.Usagef("--cov %s: the name must end in .npy, .npz or .csv", f.Cov)
	}
	return nil
}

// Use writes the covariance if that was asked for, and adds draws to r. The
// covariance is gone afterwards. target is the target's name where a model has
// several: their draws are independent.
func (f *Flags) Use(j *gp.Joint, r *output.Part, target string, msg *messages.Writer) error {
	m := len(j.Mean)
	if f.Cov != "" {
		path := f.covPath(r.Target)
		if err := atomicfile.Write(path, func(w io.Writer) error { return writeCovariance(w, j, filepath.Ext(path)) }); err != nil {
			return &output.WriteError{Err: err}
		}
		msg.Note("covariance of %d rows written to %s", m, path)
		r.Info["covariance_file"] = path
	}
	if f.Draws == 0 {
		return nil
	}
	s, err := j.Sampler()
	if err != nil {
		return err
	}
	if s.Rank < m {
		msg.Note("the covariance of the %d rows is singular to working precision: draws have rank %d, and lack variances up to %.2g", m, s.Rank, s.Dropped)
	}
	values, err := s.Draw(f.Draws, gp.TargetSeed(f.seed, target))
	if err != nil {
		return err
	}
	draws := slices.Collect(slices.Chunk(values, m))
	for d, values := range draws {
		r.AddCSV("draw"+strconv.Itoa(d), values)
	}
	r.Info["draws"], r.Info["seed"], r.Info["observed"] = draws, f.seed, f.Observed
	r.Info["rank"], r.Info["dropped_variance"] = s.Rank, s.Dropped
	return nil
}

// covPath is the file of a target's covariance: of several, NAME.TARGET.npy.
func (f *Flags) covPath(target string) string {
	if target == "" {
		return f.Cov
	}
	extension := filepath.Ext(f.Cov)
	return strings.TrimSuffix(f.Cov, extension) + "." + target + extension
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
		for row := range slices.Chunk(j.Cov, m) {
			_, _ = b.WriteString(strings.Join(textform.Words(row), ",") + "\n") // Flush has the error
		}
	}
	if err != nil {
		return err
	}
	return b.Flush()
}
