package columns

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/gp/npy"
	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
)

// Sampling selects the results of a joint distribution of rows.
type Sampling struct {
	// Draws is the number of draws, Seed their seed.
	Draws int
	Seed  uint64
	// Observed selects new observations, with noise, instead of the function.
	Observed bool
	// Covariance is the name of a file for the covariance, "" for none. It ends in one of
	// CovarianceExtensions; with several targets the names become NAME.TARGET.npy.
	Covariance string
	// Replace says that the file may replace an existing one.
	Replace bool
	// OnNote, unless nil, receives notes about files written and singular covariances.
	OnNote func(text string)
}

// CovarianceExtensions are the file name extensions for a covariance: a NumPy
// array, an archive that also has the mean, and text.
var CovarianceExtensions = []string{".npy", ".npz", ".csv"}

// CovarianceFile returns the name of the file for the covariance of a target.
// target is "" unless there are several targets.
func (o *Sampling) CovarianceFile(target string) string {
	extension := filepath.Ext(o.Covariance)
	if target == "" || o.Covariance == "" {
		return o.Covariance
	}
	return strings.TrimSuffix(o.Covariance, extension) + "." + strings.Map(inFileName, target) + extension
}

// inFileName replaces characters that would make the name of a column a path.
func inFileName(c rune) rune {
	if c < ' ' || strings.ContainsRune(`/\:`, c) {
		return '_'
	}
	return c
}

// Wanted reports whether any result is selected.
func (o *Sampling) Wanted() bool { return o.Covariance != "" || o.Draws > 0 }

func (o *Sampling) note(format string, args ...any) {
	if o.OnNote != nil {
		o.OnNote(fmt.Sprintf(format, args...))
	}
}

// Add writes the covariance of j and adds columns draw0, draw1, … to r. It destroys the covariance.
// target is the target's name if the model has several targets, whose draws are independent. Add
// returns the errors of [gp.Joint.Sampler], of [gp.Sampler.Draw] and of writing the file.
func (o *Sampling) Add(ctx context.Context, j *gp.Joint, r *TargetColumns, target string) error {
	m := len(j.Mean)
	if r.Info == nil {
		r.Info = map[string]any{}
	}
	if o.Covariance != "" {
		if t := j.Transform; t != nil {
			return &device.UnsupportedError{Method: "target-transform " + string(t.Kind), What: "a covariance of the target, only of transformed values; draws are of the target"}
		}
		path, extension := o.CovarianceFile(r.Target), filepath.Ext(o.Covariance)
		if err := atomicfile.Writer(o.Replace)(ctx, path, func(w io.Writer) error { return writeCovariance(w, j, extension) }); err != nil {
			return err
		}
		o.note("covariance of %d rows written to %s", m, path)
		r.Info["covariance_file"] = path
	}
	if o.Draws == 0 {
		return nil
	}
	s, err := j.Sampler()
	if err != nil {
		return err
	}
	if s.Rank < m {
		o.note("the covariance of the %d rows is singular to working precision: draws have rank %d and omit variances up to %.2g", m, s.Rank, s.Dropped)
	}
	values, err := s.Draw(o.Draws, gp.TargetSeed(o.Seed, target))
	if err != nil {
		return err
	}
	draws := slices.Collect(slices.Chunk(values, m))
	for d, values := range draws {
		// The JSON object holds them as a list.
		r.Columns = append(r.Columns, Column{Name: "draw" + strconv.Itoa(d), Values: values})
	}
	r.Info["draws"], r.Info["seed"], r.Info["observed"] = draws, o.Seed, o.Observed
	r.Info["rank"], r.Info["dropped_variance"] = s.Rank, s.Dropped
	return nil
}

func writeCovariance(w io.Writer, j *gp.Joint, extension string) error {
	m := len(j.Mean)
	b := bufio.NewWriterSize(w, 1<<20)
	cov := npy.Array{Name: "cov", Shape: []int{m, m}, Values: j.Cov}
	var err error
	switch extension {
	case ".npy":
		err = cov.Write(b)
	case ".npz":
		err = npy.WriteArchive(b, npy.Array{Name: "mean", Shape: []int{m}, Values: j.Mean}, cov)
	default:
		for row := range slices.Chunk(j.Cov, m) {
			_, _ = b.WriteString(strings.Join(textform.Words(row), ",") + "\n") // Flush returns the error
		}
	}
	if err != nil {
		return err
	}
	return b.Flush()
}
