package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gpfit/fit/problem"
	"gpfit/option"
	"gpfit/table"
)

// JobSpec is one fit: its limits, and everything that its result depends on except the
// contents of its files.
type JobSpec struct {
	// ID is data.kernel[.split].seed, readable and unique in the batch. It does not
	// change if the spec gets more data sets, kernels or seeds.
	ID string `json:"job"`
	// Data, Kernel and Split are names; Split is empty without a mask.
	Data   string `json:"data"`
	Kernel string `json:"kernel"`
	Split  string `json:"split,omitempty"`
	Seed   uint64 `json:"seed"`
	// Path and SplitMask are absolute; MaskColumn is an index from 0.
	Path       string `json:"path"`
	SplitMask  string `json:"split_mask,omitempty"`
	MaskColumn int    `json:"mask_column"`
	// Expression is the kernel's text form.
	Expression string  `json:"expression"`
	Options    Options `json:"options"`
	// Each is set if the job is a part of an entry with a column each.
	Each *Each `json:"each,omitempty"`
}

// Each is a part of the values of a column, each of which has a fit of its own. Plans make parts, so that
// many small fits share the files of a job.
type Each struct {
	Column string `json:"column"`
	// Labels are the values, and Rows their numbers of rows; empty before the table is read.
	Labels []string `json:"labels"`
	Rows   []int    `json:"rows"`
}

// Labels returns the values of a part, and "" for the only fit of another job.
func (j JobSpec) Labels() []string {
	if j.Each == nil {
		return []string{""}
	}
	return j.Each.Labels
}

// Fits returns the number of fits of a job.
func (j JobSpec) Fits() int { return len(j.Labels()) }

// Part returns a job for some values of its column.
func (j JobSpec) Part(number int, labels []string, rows []int) JobSpec {
	j.ID += fmt.Sprintf("%s%d", partMark, number)
	j.Each = &Each{Column: j.Each.Column, Labels: labels, Rows: rows}
	return j
}

// partMark is between the name of a job and the number of a part.
const partMark = ".part-"

// Name returns the name of a fit, which further values do not change.
func (j JobSpec) Name(label string) string {
	if j.Each == nil {
		return j.ID
	}
	return j.Whole() + "/" + label
}

// Whole returns the id of a job without the number of a part.
func (j JobSpec) Whole() string {
	if at := strings.LastIndex(j.ID, partMark); j.Each != nil && at >= 0 {
		return j.ID[:at]
	}
	return j.ID
}

// Values returns the library's options of a job, with the kernel and the seed. It returns
// a [*problem.OptionError] for options that no spec can state, which a damaged file of a run
// may have.
func (j JobSpec) Values() (option.Values, error) {
	var v option.Values
	given, bad := j.Options.read()
	if bad != nil {
		return v, bad.err
	}
	known().Assign(&v, given)
	v.Fit.Kernel, v.Fit.Settings.Seed, v.Data.Seed, v.Fit.FoldSeed = j.Expression, j.Seed, j.Seed, j.Seed
	return v, nil
}

// Fingerprint returns a hash of everything that the job's result depends on: its options,
// except Memory and Retries, and the SHA-256 of its files. hashes gives these by path.
func (j JobSpec) Fingerprint(hashes map[string]string) string {
	j.Path, j.SplitMask = hashes[j.Path], hashes[j.SplitMask]
	j.Options.Memory, j.Options.Retries = nil, nil
	text, err := json.Marshal(j)
	if err != nil {
		panic("spec: a job cannot be JSON: " + err.Error()) // every field can
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// maxJobs bounds the jobs of a batch, which take 6 KB each. A larger batch is a mistake.
const maxJobs = 100_000

// Expand returns the jobs: data sets, kernels, splits and seeds in their order, the last
// changing fastest. Paths are relative to dir. extra overrides every option of the spec.
// If the spec names mask columns, Expand reads the mask files; formats are additional
// formats of these files. Expand returns an [*Error] or a [*table.Error].
func (s *Batch) Expand(dir string, extra Options, formats ...table.Format) ([]JobSpec, error) {
	if err := s.checkOptions("", extra); err != nil {
		return nil, err
	}
	seeds := s.Seeds
	if len(seeds) == 0 {
		seeds = []uint64{1}
	}
	var jobs []JobSpec
	for i, d := range s.Data {
		splits, err := s.columns(i, dir, formats)
		if err != nil {
			return nil, err
		}
		if len(jobs)+len(splits)*len(seeds)*len(s.Kernels) > maxJobs {
			return nil, &Error{Source: s.source, Msg: fmt.Sprintf("the batch has more than %d jobs", maxJobs)}
		}
		for _, k := range s.Kernels {
			for _, split := range splits {
				for _, seed := range seeds {
					j := JobSpec{
						Data: d.Name, Kernel: k.Name, Split: split.name, Seed: seed, Path: absolute(dir, d.Path),
						SplitMask: absolute(dir, d.SplitMask), MaskColumn: split.index, Expression: k.Kernel,
					}
					if slices.ContainsFunc(s.Exclude, j.matches) {
						continue
					}
					if j.ID = j.id(); len(j.ID) > maxID || d.Each != "" && len(j.ID) > maxID-len(partMark+"000000") {
						return nil, s.errorAt(fmt.Sprintf("data[%d]", i), nil, "%s is too long for the name of a file: give data and kernel shorter names", j.ID)
					}
					j.Options = s.merged(d, k, j, extra)
					if j.Options.Folds != nil && (j.Options.Objective == nil || !problem.Criterion(*j.Options.Objective).LeavesFoldsOut()) {
						return nil, s.errorAt(s.statedAt(j, known().Find("folds", option.Spec)), nil, "%s: folds needs the objective cv or cv-rmse; the splits of a batch replace other cross-validation", j.ID)
					}
					if d.Each != "" {
						if n := j.Options.Subsample; n != nil && *n > 0 {
							return nil, s.errorAt(s.statedAt(j, known().Find("subsample", option.Spec)), nil, "%s: subsample draws rows of the whole table, and each value of %s has a fit of its own: leave one of them out", j.ID, d.Each)
						}
						if j.Options.Target != nil && *j.Options.Target == d.Each {
							return nil, s.errorAt(s.statedAt(j, known().Find("target", option.Spec)), nil, "%s: the column %s divides the rows, and is no target", j.ID, d.Each)
						}
						if slices.Contains(j.Options.Features, d.Each) {
							return nil, s.errorAt(s.statedAt(j, known().Find("features", option.Spec)), nil, "%s: the column %s divides the rows, and is no input", j.ID, d.Each)
						}
						j.Each = &Each{Column: string(d.Each)}
					}
					jobs = append(jobs, j)
				}
			}
		}
	}
	if len(jobs) == 0 {
		return nil, s.errorAt("exclude", nil, "exclude leaves no job")
	}
	return jobs, nil
}

func (j JobSpec) id() string {
	parts := []string{j.Data, j.Kernel}
	if j.Split != "" {
		parts = append(parts, "split-"+slug(j.Split))
	}
	return strings.Join(append(parts, "seed-"+strconv.FormatUint(j.Seed, 10)), ".")
}

func (j JobSpec) matches(m Match) bool {
	has := func(list []Word, v string) bool { return list == nil || slices.Contains(list, Word(v)) }
	return has(m.Data, j.Data) && has(m.Kernel, j.Kernel) && has(m.Split, j.Split) && (m.Seed == nil || slices.Contains(m.Seed, j.Seed))
}

// merged returns the options of a job. Later merges override earlier ones.
func (s *Batch) merged(d DataSet, k NamedKernel, j JobSpec, extra Options) Options {
	var o Options
	o.merge(defaults())
	o.merge(s.Defaults)
	o.merge(d.Options)
	o.merge(k.Options)
	for _, v := range s.Overrides {
		if j.matches(v.Match) {
			o.merge(v.Options)
		}
	}
	o.merge(extra)
	return o
}

// merge sets the options that other states.
func (o *Options) merge(other Options) {
	dst, src := reflect.ValueOf(o).Elem(), reflect.ValueOf(other)
	for i := range src.NumField() {
		from, to := src.Field(i), dst.Field(i)
		switch {
		case from.IsNil():
			continue
		case from.Kind() != reflect.Map:
			to.Set(from)
			continue
		case to.IsNil():
			to.Set(reflect.MakeMap(from.Type()))
		}
		for it := from.MapRange(); it.Next(); {
			to.SetMapIndex(it.Key(), it.Value())
		}
	}
}

// statedAt returns the place where the spec states an option of a job, or "" if the spec does not.
func (s *Batch) statedAt(j JobSpec, o *option.Option) string {
	i := slices.IndexFunc(known(), func(k option.Option) bool { return k.Name == o.Name })
	states := func(from Options) bool { return !reflect.ValueOf(from).Field(i).IsNil() }
	for k := len(s.Overrides) - 1; k >= 0; k-- {
		if v := s.Overrides[k]; j.matches(v.Match) && states(v.Options) {
			return fmt.Sprintf("overrides[%d].%s", k, o.Key())
		}
	}
	if k := s.kernelIndex(j); k >= 0 && states(s.Kernels[k].Options) {
		return s.kernelAt(j) + "." + o.Key()
	}
	if k := slices.IndexFunc(s.Data, func(d DataSet) bool { return d.Name == j.Data }); k >= 0 && states(s.Data[k].Options) {
		return fmt.Sprintf("data[%d].%s", k, o.Key())
	}
	if states(s.Defaults) {
		return "defaults." + o.Key()
	}
	return ""
}

func (s *Batch) kernelIndex(j JobSpec) int {
	return slices.IndexFunc(s.Kernels, func(k NamedKernel) bool { return k.Name == j.Kernel })
}

func (s *Batch) kernelAt(j JobSpec) string { return fmt.Sprintf("kernels[%d]", s.kernelIndex(j)) }

type split struct {
	name  string
	index int
}

// columns returns the splits of a data set. Without a mask it returns one without a name.
func (s *Batch) columns(i int, dir string, formats []table.Format) ([]split, error) {
	d, at := s.Data[i], fmt.Sprintf("data[%d].splits", i)
	if d.SplitMask == "" {
		return []split{{}}, nil
	}
	wanted := d.Splits
	if wanted == nil {
		wanted, at = s.Splits, "splits"
	}
	if wanted == nil {
		return []split{{"0", 0}}, nil
	}
	if wanted.All && d.SplitMask == d.Path {
		return nil, s.errorAt(at, nil, "splits: name the columns of the table that are masks")
	}
	mask, err := table.Open(absolute(dir, d.SplitMask), table.Options{NoTarget: true, Formats: formats})
	if err != nil {
		return nil, err
	}
	defer mask.Close()
	names := mask.Names()
	var out []split
	if wanted.All {
		for c := range names {
			out = append(out, split{strconv.Itoa(c), c})
		}
		return out, nil
	}
	for n, w := range wanted.Columns {
		c, err := strconv.Atoi(string(w))
		if err != nil {
			c = slices.Index(names, string(w))
		}
		if c < 0 || c >= len(names) {
			return nil, s.errorAt(fmt.Sprintf("%s[%d]", at, n), nil, "%s has no column %q; there are %s, or 0 to %d",
				d.SplitMask, w, strings.Join(names, ", "), len(names)-1)
		}
		if !validName.MatchString(slug(string(w))) {
			return nil, s.errorAt(fmt.Sprintf("%s[%d]", at, n), nil, "column %q: give its index, from 0", w)
		}
		out = append(out, split{string(w), c})
	}
	return out, nil
}

func absolute(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	full := filepath.Join(dir, path)
	abs, err := filepath.Abs(full)
	if err != nil {
		return full
	}
	return abs
}
