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

	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
)

// Sampling says what is wanted of a joint distribution of rows.
type Sampling struct {
	// Draws is the number of draws, Seed their seed.
	Draws int
	Seed  uint64
	// Observed means new observations, noise included, and not the function.
	Observed bool
	// Covariance is a file for the covariance, "" for none. Its name ends in one of
	// CovarianceExtensions; that of several targets becomes NAME.TARGET.npy.
	Covariance string
	// OnNote, unless nil, is told of files and of singular covariances.
	OnNote func(text string)
}

// CovarianceExtensions are those of files for a covariance: a NumPy array, an
// archive with the mean beside it, text.
var CovarianceExtensions = []string{".npy", ".npz", ".csv"}

// CovarianceFile is the file for the covariance of a target, which is "" unless
// there are several.
func (o *Sampling) CovarianceFile(target string) string {
	extension := filepath.Ext(o.Covariance)
	if target == "" || o.Covariance == "" {
		return o.Covariance
	}
	return strings.TrimSuffix(o.Covariance, extension) + "." + strings.Map(inFileName, target) + extension
}

// inFileName keeps the name of a column from being a path.
func inFileName(c rune) rune {
	if c < ' ' || strings.ContainsRune(`/\:`, c) {
		return '_'
	}
	return c
}

// Wanted says whether anything is.
func (o *Sampling) Wanted() bool { return o.Covariance != "" || o.Draws > 0 }

func (o *Sampling) note(format string, args ...any) {
	if o.OnNote != nil {
		o.OnNote(fmt.Sprintf(format, args...))
	}
}

// Add writes the covariance of j and adds columns draw0, draw1, … to r. The
// covariance is gone afterwards. target is the target's name where a model has
// several: their draws are independent. Errors: those of [gp.Joint.Sampler] and
// [gp.Sampler.Draw], and of writing the file.
func (o *Sampling) Add(ctx context.Context, j *gp.Joint, r *TargetColumns, target string) error {
	m := len(j.Mean)
	if r.Info == nil {
		r.Info = map[string]any{}
	}
	if o.Covariance != "" {
		path, extension := o.CovarianceFile(r.Target), filepath.Ext(o.Covariance)
		if err := atomicfile.Write(ctx, path, func(w io.Writer) error { return writeCovariance(w, j, extension) }); err != nil {
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
		o.note("the covariance of the %d rows is singular to working precision: draws have rank %d, and lack variances up to %.2g", m, s.Rank, s.Dropped)
	}
	values, err := s.Draw(o.Draws, gp.TargetSeed(o.Seed, target))
	if err != nil {
		return err
	}
	draws := slices.Collect(slices.Chunk(values, m))
	for d, values := range draws {
		// The JSON object has them as a list.
		r.Columns = append(r.Columns, Column{Name: "draw" + strconv.Itoa(d), Values: values})
	}
	r.Info["draws"], r.Info["seed"], r.Info["observed"] = draws, o.Seed, o.Observed
	r.Info["rank"], r.Info["dropped_variance"] = s.Rank, s.Dropped
	return nil
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
