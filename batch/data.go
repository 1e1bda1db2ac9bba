package batch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/hostmem"
	"gpfit/table"
)

// loader reads tables once for all jobs that need them, and keeps them for as
// long as there are such jobs.
type loader struct {
	hashes  map[string]string
	formats []table.Format
	mu      sync.Mutex
	tables  map[string]*loaded
}

type loaded struct {
	once  sync.Once
	users int
	data  fit.Data
	table *table.Table // its rows, for masks
	masks map[int][]bool
	err   error
	mu    sync.Mutex
}

// newLoader counts the users of every table. hashes are the sums that files
// must have, nil to take them as they are.
func newLoader(hashes map[string]string, jobs []spec.JobSpec, formats []table.Format) *loader {
	l := &loader{hashes: hashes, formats: formats, tables: map[string]*loaded{}}
	for _, j := range jobs {
		key := tableKey(j)
		if l.tables[key] == nil {
			l.tables[key] = &loaded{masks: map[int][]bool{}}
		}
		l.tables[key].users++
	}
	return l
}

// tableKey tells apart what is read: a file, its mask, and how.
func tableKey(j spec.JobSpec) string {
	o := j.Options
	key := fmt.Sprintf("%q %q %q %q %q %q %q %q", j.Path, j.SplitMask, text(o.Target), o.Features, text(o.Header), value(o.Missing), text(o.NoiseColumn), text(o.NoiseGroup))
	if j.SplitMask == j.Path {
		key += fmt.Sprint(" mask ", j.MaskColumn)
	}
	if n := value(o.Subsample); n > 0 {
		key += fmt.Sprint(" subsample ", n, j.Seed)
	}
	return key
}

func text(w *spec.Word) string {
	if w == nil {
		return ""
	}
	return string(*w)
}

// release says that a job needs its table no more.
func (l *loader) release(j spec.JobSpec) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := tableKey(j)
	if t := l.tables[key]; t != nil {
		if t.users--; t.users <= 0 {
			delete(l.tables, key)
		}
	}
}

// data returns the table of a job with its split.
func (l *loader) data(j spec.JobSpec) (fit.Data, error) {
	l.mu.Lock()
	t := l.tables[tableKey(j)]
	if t == nil {
		t = &loaded{users: 1, masks: map[int][]bool{}}
		l.tables[tableKey(j)] = t
	}
	l.mu.Unlock()
	t.once.Do(func() { t.data, t.table, t.err = l.read(j) })
	if t.err != nil || j.SplitMask == "" {
		return t.data, t.err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	mask := t.masks[j.MaskColumn]
	if mask == nil {
		var err error
		if mask, err = table.ReadMask(j.SplitMask, strconv.Itoa(j.MaskColumn), l.formats...); err == nil && t.table.Row != nil {
			mask, err = table.SelectMask(j.SplitMask, mask, t.table)
		}
		if err != nil {
			return fit.Data{}, err
		}
		t.masks[j.MaskColumn] = mask
	}
	d := t.data
	d.Test = mask
	return d, nil
}

func (l *loader) read(j spec.JobSpec) (fit.Data, *table.Table, error) {
	for _, path := range []string{j.Path, j.SplitMask} {
		want, known := l.hashes[path]
		if path == "" || !known {
			continue
		}
		if in, err := rundir.HashInput(path); err == nil && in.SHA256 != want {
			return fit.Data{}, nil, &table.Error{Source: path, Msg: "the file has changed since the run was made"}
		}
	}
	o := table.Options{Target: text(j.Options.Target), Formats: l.formats}
	for _, f := range j.Options.Features {
		o.Features = append(o.Features, string(f))
	}
	switch text(j.Options.Header) {
	case "yes":
		o.Header = table.HeaderYes
	case "no":
		o.Header = table.HeaderNo
	}
	column, group := text(j.Options.NoiseColumn), text(j.Options.NoiseGroup)
	if column != "" {
		o.Extra = append(o.Extra, column)
	}
	if group != "" {
		o.ExtraText = append(o.ExtraText, group)
	}
	if j.SplitMask == j.Path {
		// A mask inside the table is no input.
		o.Extra = append(o.Extra, strconv.Itoa(j.MaskColumn))
	}
	if value(j.Options.Missing) == "drop" {
		o.Missing = table.MissingDrop
	}
	if o.Subsample, o.Seed = value(j.Options.Subsample), j.Seed; o.Subsample == 0 {
		o.MaxRows = device.MaxRows(hostmem.Free())
	}
	t, err := table.Read(j.Path, o)
	if err != nil {
		return fit.Data{}, nil, err
	}
	d := fit.Data{X: t.X, Y: t.Y, N: t.N, D: t.D, FeatureNames: t.FeatureNames, TargetName: t.TargetName, Warnings: t.Warnings}
	if column != "" {
		d.NoiseVariance, d.NoiseColumn = t.Extra[column], column
	}
	if group != "" {
		d.NoiseGroup, d.NoiseGroupColumn = t.ExtraText[group], group
	}
	t.X, t.Y = nil, nil
	return d, t, nil
}

// prepare reads a job's data and checks the job.
func (l *loader) prepare(j spec.JobSpec, change func(*fit.Options)) (*fit.Job, error) {
	data, err := l.data(j)
	if err != nil {
		return nil, err
	}
	o := fitOptions(j)
	if change != nil {
		change(&o)
	}
	return fit.Prepare(data, o)
}

// fitOptions turns a job into the options of its fit. What is set and fixed goes
// in the order of names, so that lengthscale comes before lengthscale[0].
func fitOptions(j spec.JobSpec) fit.Options {
	o := j.Options
	f := fit.Options{
		Kernel: j.Expression, ARD: value(o.ARD), Mean: value(o.Mean), Standardize: gp.Standardize(value(o.Standardize)),
		RequirePSD: value(o.RequirePSD), MaxJitter: value(o.MaxJitter), NoNoise: value(o.Noise) == "none", Objective: fit.Criterion(value(o.Objective)),
		LeaveOneOut: slices.Contains(o.Scores, "loo"), StdErrors: value(o.StdErrors),
		Settings: hyperopt.Settings{Method: descent.MethodNamed(value(o.Optimizer)), Coarse: hyperopt.Coarse(value(o.Coarse)), Restarts: value(o.Restarts), Seed: j.Seed, MaxEvaluations: value(o.MaxEvals)},
	}
	for _, name := range slices.Sorted(maps.Keys(o.Set)) {
		f.Set = append(f.Set, fit.Assignment{Name: name, Value: o.Set[name], Given: true})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Fix)) {
		f.Fix = append(f.Fix, fit.Assignment{Name: name, Value: value(o.Fix[name]), Given: o.Fix[name] != nil})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Bounds)) {
		f.Bounds = append(f.Bounds, fit.Interval{Name: name, Lo: o.Bounds[name][0], Hi: o.Bounds[name][1]})
	}
	if how := value(o.MeanFit); how != "auto" {
		f.MeanFit = fit.MeanFit(how)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Prior)) {
		// The spec was checked; a density that is none has no effect here but
		// an error in Prepare.
		density, _ := graph.ParsePrior(o.Prior[name])
		f.Priors = append(f.Priors, fit.ParameterPrior{Name: name, Density: density})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Tie)) {
		f.Ties = append(f.Ties, fit.Tie{Name: name, Source: o.Tie[name]})
	}
	return f
}

// value is what p points to, the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
