package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device/pool"
	"gpfit/device/queue"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
	"gpfit/internal/userfile"
	"gpfit/table"
)

// A data set with a column each has a fit for each value of the column. The plan divides the values into parts, and a part is a
// job: it has a claim, a record and a log, and fits its values one after the other. Each result is a line of the record. A fit that
// was interrupted starts over, unless it has many rows.

const (
	// mostParts is the number of parts if these then have at most partFits values.
	mostParts, partFits = 128, 1000
	// largeFit is the number of rows from which on a value is a part by itself, with a checkpoint.
	largeFit = 1000
)

// groups are the rows of a table by the values of a column.
type groups struct {
	source, column string
	drop           bool // rows with missing values
	labels         []string
	rows           map[string][]int
	gaps           map[int]int // the lines of rows with missing values, by the row
	most           int         // rows of a value
}

// newGroups finds the rows of each value, in the order of the table.
func newGroups(t *table.Table, column string, drop bool) (*groups, error) {
	g, counts := &groups{source: t.Source, column: column, drop: drop, rows: map[string][]int{}, gaps: map[int]int{}}, map[string]int{}
	for i, label := range t.Keep[0] {
		if label == "" && !drop {
			return nil, &table.Error{Source: t.Source, Line: t.Line[i], Msg: "an empty cell of the column " + column + " names no job; option missing drop leaves such rows out"}
		}
		if t.Gap[i] {
			g.gaps[i] = t.Line[i]
		}
		if label == "" {
			continue
		}
		if counts[label]++; counts[label] == 1 {
			g.labels = append(g.labels, label)
		}
		g.most = max(g.most, counts[label])
	}
	if len(g.labels) == 0 {
		return nil, &table.Error{Source: t.Source, Msg: "all cells of the column " + column + " are empty, and name no job"}
	}
	room := make([]int, t.N)
	for _, label := range g.labels {
		g.rows[label], room = room[:0:counts[label]], room[counts[label]:]
	}
	for i, label := range t.Keep[0] {
		if label != "" {
			g.rows[label] = append(g.rows[label], i)
		}
	}
	t.Keep, t.Gap, t.Line = nil, nil, nil
	return g, nil
}

// of returns the data of a value, of the data of the whole table.
func (g *groups) of(d problem.Data, label string) (problem.Data, error) {
	all, gap, reading := len(g.rows[label]), 0, *d.Reading
	rows := make([]int, 0, all)
	for _, i := range g.rows[label] {
		if line := g.gaps[i]; line == 0 {
			rows = append(rows, i)
		} else {
			gap = cmp.Or(gap, line)
		}
	}
	switch {
	case gap > 0 && !g.drop:
		return d, &table.Error{Source: g.source, Line: gap, Msg: fmt.Sprintf("a value is missing in %d of the %s of %s %q; option missing drop leaves such rows out", all-len(rows), textform.Counted(all, "row"), g.column, label)}
	case len(rows) == 0:
		return d, &table.Error{Source: g.source, Msg: fmt.Sprintf("all rows of %s %q have missing values", g.column, label)}
	}
	reading.Rows, reading.Dropped = all, all-len(rows)
	d.Row = []int{} // the whole table needs no list of its rows
	d = d.Rows(rows)
	if d.Row, d.Reading = rows, &reading; gap > 0 {
		d.Warnings = append(slices.Clip(d.Warnings), fmt.Sprintf("left out %d of %s: missing values (first: line %d)", reading.Dropped, textform.Counted(all, "row"), gap))
	}
	return d, nil
}

// divided divides the jobs with a column each into parts. An error is in a table, or at a place in the spec.
func (l *loader) divided(ctx context.Context, s *Spec, jobs []spec.JobSpec) ([]spec.JobSpec, error) {
	var out []spec.JobSpec
	for _, j := range jobs {
		if j.Each == nil {
			out = append(out, j)
			continue
		}
		t, err := l.table(j)
		if err != nil {
			return nil, cmp.Or(s.Mistake(j, err), err)
		}
		parts := t.parts(j)
		t.users += len(parts) - 1
		if out = append(out, parts...); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// parts divides a job with a column each.
func (t *loaded) parts(j spec.JobSpec) []spec.JobSpec {
	size := min(partFits, max(1, (len(t.groups.labels)+mostParts-1)/mostParts))
	var lists [][]string
	var small []string
	for _, label := range t.groups.labels {
		if len(t.groups.rows[label]) >= largeFit {
			lists = append(lists, []string{label})
			continue
		}
		if small = append(small, label); len(small) == size {
			lists, small = append(lists, small), nil
		}
	}
	if small != nil {
		lists = append(lists, small)
	}
	var out []spec.JobSpec
	for i, labels := range lists {
		var rows []int
		for _, label := range labels {
			rows = append(rows, len(t.groups.rows[label]))
		}
		out = append(out, j.Part(i, labels, rows))
	}
	return out
}

// ofPart returns the size of the largest fit of a part that can be prepared, and how many of its evaluations all fits take. Only the
// largest fit of a table tells the mistakes of a spec.
func (s *sizer) ofPart(ctx context.Context, j spec.JobSpec) (size jobSize) {
	const tries = 3
	order, sum := matrixrows.All(len(j.Each.Rows)), 0.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(j.Each.Rows[b], j.Each.Rows[a]) })
	for _, n := range j.Each.Rows {
		sum += costOf(n)
	}
	var first error
	for _, k := range order[:min(tries, len(order))] {
		if size = s.measure(ctx, j, j.Each.Labels[k]); size.err == nil {
			size.evaluations *= max(1, sum/costOf(j.Each.Rows[k]))
			return size
		}
		first = cmp.Or(first, size.err)
	}
	t, err := s.load.table(j)
	if size.n = j.Each.Rows[order[0]]; err == nil && size.n < t.groups.most {
		first = nil
	}
	size.d, size.err = t.data.D, first
	return size
}

// costOf is the relative cost of a fit of n rows.
func costOf(n int) float64 { return (&pool.Demand{Rows: n, Evaluations: 1}).Cost() }

// fitCounts counts the fits of a job.
type fitCounts struct {
	done   int // fits that have a result
	failed []Failure
	left   []string // the labels of the other fits
}

// outcomeOf returns what the record of a part says. Another job has a fit that is left.
func outcomeOf(j PlannedJob, each map[string]rundir.JobEvent) (c fitCounts) {
	for _, label := range j.Labels() {
		switch e := each[label]; e.Type {
		case rundir.Done:
			c.done++
		case rundir.Failed:
			c.failed = append(c.failed, Failure{j.Name(label), e.Kind, e.Error})
		default:
			c.left = append(c.left, label)
		}
	}
	return c
}

// fail lets the fits fail that are left.
func (c *fitCounts) fail(j PlannedJob, kind, text string) {
	c.failed = slices.Clip(c.failed)
	for _, label := range c.left {
		c.failed = append(c.failed, Failure{j.Name(label), kind, text})
	}
	c.left = nil
}

// addFailures adds the failures to others, by their jobs.
func (c *fitCounts) addFailures(to map[string]Failure) {
	for _, f := range c.failed {
		to[f.Job] = f
	}
}

// open reports whether failed fits are to be tried again.
func (c *fitCounts) open(retryFailed bool) bool {
	return slices.ContainsFunc(c.failed, func(f Failure) bool { return retryFailed || retryable(f.Kind) })
}

// each fits the values of a part that have no result. A fit that fails does not stop the others, unless the place is why.
func (r *runner) each(ctx context.Context, t *task, at pool.Place, claim *rundir.Claim, log *slog.Logger, out *outcome) error {
	if _, err := r.ready(t); err != nil {
		return err
	}
	attempt := claim.Record.Last().Attempt
	for i, label := range t.job.Each.Labels {
		last := claim.Each[label]
		if last.Type == rundir.Done || last.Type == rundir.Failed && (last.Attempt == attempt || !t.retryFailed && !retryable(last.Kind)) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		status := fmt.Sprintf("%s, %d of %d", textform.Printable(strings.ReplaceAll(label, "\n", " "), 40), i+1, len(t.job.Each.Labels))
		t.status.Store(&status)
		o, err := r.one(ctx, t, at, label)
		event := rundir.JobEvent{Type: rundir.Done, Each: label, Attempt: attempt}
		switch kind := kindOf(err); {
		case err == nil:
			event.Report = &o.Report
			out.evaluation += o.Report.EvaluationSeconds
			out.here++
		case problem.IsCancelled(err) && ctx.Err() != nil, uselessCheckpoint(err), kind == KindDevice, kind == KindWrite:
			return err
		default:
			event.Type, event.Kind, event.Error = rundir.Failed, kind, err.Error()
			log.Error("failed", "each", label, "kind", kind, "error", err)
			if errors.Is(err, errPanic) {
				log.Error("stack", "text", string(t.stack))
			}
		}
		if err := claim.Append(event); err != nil {
			return fmt.Errorf("%w%.0w", err, errWrite)
		}
		if err == nil {
			t.fitted.Add(1)
		}
	}
	return nil
}

// one fits a value of a part. The outcome is closed.
func (r *runner) one(ctx context.Context, t *task, at pool.Place, label string) (o *fit.Outcome, err error) {
	defer t.recoverTo(&err)
	prepared, err := r.load.prepare(t.job.JobSpec, label, r.events(t), func(o *problem.Options) {
		if t.attempts > 0 && t.job.Each.Rows[0] >= largeFit {
			o.Checkpoint, o.DiscardCancelled = r.run.Path("checkpoints", t.job.ID), true
		}
	})
	if err != nil {
		return nil, err
	}
	b, giveBack, err := r.pool.Backend(ctx, at)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	if o, err = r.fit(ctx, t, b, prepared); err == nil {
		o.Close()
	}
	return o, err
}

// WriteModels fits values of parts again, because a run does not keep their models, and writes the models: of the job name to the
// file path, or for "" of all with a result to the new folder path, under [ModelName]. A fit runs on the device of its record.
// Errors: a [*DirectoryError] if there is no such result, or if it is another now; and errors of fits and files.
func WriteModels(ctx context.Context, r *Directory, name, path string, o Options) error {
	p, err := pool.New(ctx, o.pool())
	if err != nil {
		return err
	}
	defer p.Close()
	if name == "" {
		if files, _ := userfile.Folder(path); len(files) > 0 {
			return &DirectoryError{Path: path, Msg: "is not empty: name a new folder for the models"}
		}
		if err := os.MkdirAll(path, 0o777); err != nil {
			return err
		}
	}
	var jobs []spec.JobSpec
	var work []*task
	for _, j := range r.Jobs {
		t := &task{demand: newDemand(j), fits: fitCounts{left: slices.Clone(j.Labels())}}
		t.fits.left = slices.DeleteFunc(t.fits.left, func(label string) bool { return name != "" && j.Name(label) != name })
		if j.Each != nil && len(t.fits.left) > 0 {
			jobs, work = append(jobs, j.JobSpec), append(work, t)
		}
	}
	if work == nil {
		return &DirectoryError{Path: r.Dir, Msg: fmt.Sprintf("no value of a column each has the job %q; the models of other jobs are in its folder models", name)}
	}
	again := runner{run: r, pool: p, load: newLoader(r.Hashes(), jobs, o.Formats, o.Methods)}
	group, errs, free := sync.WaitGroup{}, make([]error, len(work)), make(chan bool, p.Cores)
	for i, t := range work {
		free <- true
		at, before, err := again.before(ctx, t)
		if errs[i] = err; err != nil {
			break
		}
		group.Go(func() {
			errs[i] = again.refit(ctx, t, at, before, name, path)
			<-free
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// before returns the results of a part and a place for its fits.
func (r *runner) before(ctx context.Context, t *task) (pool.Place, map[string]rundir.JobEvent, error) {
	status, err := r.run.Status(t.job)
	if err != nil {
		return pool.Place{}, nil, err
	}
	side := queue.Cores
	t.Device = cmp.Or(status.Record.Device(), t.Device)
	if _, host := r.pool.Found.OnHost(t.Device); !host {
		r.pool.OpenAccelerators(ctx, func(string) {})
		side = queue.Cards
	}
	at, err := r.pool.Find(&t.Demand, side)
	return at, status.Each, err
}

// refit fits values of a part again and writes their models.
func (r *runner) refit(ctx context.Context, t *task, at pool.Place, before map[string]rundir.JobEvent, name, path string) error {
	for _, label := range t.fits.left {
		job, file, was := t.job.Name(label), path, before[label].Report
		switch {
		case was == nil && name == "":
			continue
		case was == nil:
			return &DirectoryError{Path: r.run.Dir, Msg: fmt.Sprintf("the job %s has no result", job)}
		case name == "":
			file = filepath.Join(path, ModelName(job))
		}
		o, err := r.one(ctx, t, at, label)
		if err == nil && math.Abs(o.Report.NLML-was.NLML) > 1e-6*max(1, math.Abs(was.NLML)) {
			err = &DirectoryError{Path: r.run.Dir, Msg: fmt.Sprintf("the fit of %s now has the NLML %v and had %v: the program or the machine is another", job, o.Report.NLML, was.NLML)}
		}
		if err == nil {
			err = o.SaveModel(file, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ModelName returns the name of the file of the model of a job in a folder of them: the job's name as in a URL, where a long one ends
// with a part of its SHA-256.
func ModelName(job string) string {
	const most = 200
	name := url.PathEscape(job)
	if len(name) > most {
		name = name[:most] + "-" + rundir.SHA256([]byte(job))[:12]
	}
	return name + ".gpfit"
}
