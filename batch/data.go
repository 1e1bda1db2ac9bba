package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/option"
	"gpfit/table"
)

// loader reads each table once for all jobs that need it, and keeps it until the last
// of these jobs ends.
type loader struct {
	hashes  map[string]string
	formats []table.Format
	methods []device.Method
	keys    map[string]string // of tables, by the job's id
	mu      sync.Mutex
	tables  map[string]*loaded
}

type loaded struct {
	once    sync.Once
	users   int
	data    problem.Data
	table   *table.Table    // the rows, for masks
	options dataset.Options // how to read the table
	masks   map[int][]bool
	groups  *groups // of a column each
	err     error
	mu      sync.Mutex
}

// newLoader counts the users of every table among these jobs. hashes are the sums that files must have;
// nil accepts all files.
func newLoader(hashes map[string]string, jobs []spec.JobSpec, formats []table.Format, methods []device.Method) *loader {
	l := &loader{hashes: hashes, formats: formats, methods: methods, keys: map[string]string{}, tables: map[string]*loaded{}}
	for _, j := range jobs {
		key := l.keys[j.Whole()]
		if key == "" {
			key = tableKey(j)
			l.keys[j.Whole()] = key
		}
		if l.tables[key] == nil {
			l.tables[key] = &loaded{masks: map[int][]bool{}}
		}
		l.tables[key].users++
	}
	return l
}

// tableKey identifies what a job reads: a file, its mask, and the options of reading.
func tableKey(j spec.JobSpec) string {
	v, _ := j.Values() // read reports the error
	if v.Data.Subsample == 0 {
		v.Data.Seed = 0
	}
	if j.Each != nil {
		v.Data.Each = j.Each.Column
	}
	key := fmt.Sprintf("%q %q %s %#v", j.Path, j.SplitMask, v.Compute.Method, v.Data)
	if j.SplitMask == j.Path {
		key += fmt.Sprint(" mask ", j.MaskColumn)
	}
	return key
}

// release drops a job's table once no other job needs it.
func (l *loader) release(j spec.JobSpec) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := l.keys[j.Whole()]
	if t := l.tables[key]; t != nil {
		if t.users--; t.users <= 0 {
			delete(l.tables, key)
		}
	}
}

// table returns what a job reads.
func (l *loader) table(j spec.JobSpec) (*loaded, error) {
	l.mu.Lock()
	key := l.keys[j.Whole()]
	t := l.tables[key]
	if t == nil {
		t = &loaded{users: 1, masks: map[int][]bool{}}
		l.tables[key] = t
	}
	l.mu.Unlock()
	t.once.Do(func() { t.err = l.read(j, t) })
	return t, t.err
}

// data returns the table of a job with its split.
func (l *loader) data(j spec.JobSpec) (problem.Data, error) {
	t, err := l.table(j)
	if err != nil || j.SplitMask == "" {
		return t.data, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	mask := t.masks[j.MaskColumn]
	if mask == nil {
		var err error
		o := t.options
		o.Mask, o.MaskColumn = j.SplitMask, strconv.Itoa(j.MaskColumn)
		if mask, err = o.ReadMask(j.Path); err == nil {
			mask, err = table.SelectMask(j.SplitMask, mask, t.table)
		}
		if err != nil {
			return problem.Data{}, err
		}
		t.masks[j.MaskColumn] = mask
	}
	d := t.data
	d.Test = mask
	return d, nil
}

func (l *loader) read(j spec.JobSpec, into *loaded) error {
	for _, path := range []string{j.Path, j.SplitMask} {
		want, known := l.hashes[path]
		if path == "" || !known {
			continue
		}
		if in, err := rundir.HashInput(path); err == nil && in.SHA256 != want {
			return &table.Error{Source: path, Msg: "the file has changed since the run was made"}
		}
	}
	v, err := l.values(j)
	if err != nil {
		return err
	}
	o := v.Data
	o.Formats = l.formats
	if j.Each != nil {
		o.Each = j.Each.Column
	}
	if j.SplitMask == j.Path {
		o.Mask, o.MaskColumn = j.Path, strconv.Itoa(j.MaskColumn)
	}
	t, err := o.ReadTable(j.Path, nil)
	if err != nil {
		return err
	}
	into.data, into.table, into.options = o.Data(t), t, o
	t.X, t.Y = nil, nil
	if o.Each != "" { // each job tells its own gaps
		into.data.Warnings = slices.DeleteFunc(into.data.Warnings, func(w string) bool { return strings.HasPrefix(w, "left blank ") })
		into.groups, err = newGroups(t, o.Each, o.DropMissing)
	}
	return err
}

// values returns the options of a job, whose method must exist and suit the other options.
func (l *loader) values(j spec.JobSpec) (option.Values, error) {
	v, err := j.Values()
	if err != nil {
		return v, err
	}
	method, err := problem.FindMethod(v.Compute.Method, l.methods, v.Fit)
	v.Data.Methods = problem.MethodsOf(method, l.methods, v.Fit)
	return v, err
}

// prepare reads a job's data and prepares its fit, or the fit of one value of a part, with the options that change, unless
// nil, has changed.
func (l *loader) prepare(j spec.JobSpec, label string, events problem.Events, change func(*problem.Options)) (*tuning.Job, error) {
	v, err := l.values(j)
	if err != nil {
		return nil, err
	}
	data, err := l.data(j)
	if err == nil && label != "" {
		t, _ := l.table(j)
		data, err = t.groups.of(data, label)
	}
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&v.Fit)
	}
	return fit.Prepare(data, v.Fit, events)
}

// value returns the value that p points to, or the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
