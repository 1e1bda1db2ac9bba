package batch

import (
	"fmt"
	"os"
	"time"

	"gpfit/batch/rundir"
	"gpfit/internal/pace"
)

// paces learns from finished jobs, also of processes before, how long the others take.
type paces struct {
	kinds map[string]pace.Rate
	all   pace.Rate
}

// kindOfJob names the jobs that take about as long: seeds and splits change little.
func kindOfJob(j PlannedJob) string {
	return fmt.Sprintf("%s\x00%s\x00%d", j.Data, j.Kernel, value(j.Options.Restarts))
}

func (p *paces) add(d *demand, seconds float64) {
	if p.kinds == nil {
		p.kinds = map[string]pace.Rate{}
	}
	kind, cost := kindOfJob(d.job), d.Cost()
	own := p.kinds[kind]
	own.Add(cost, seconds)
	p.all.Add(cost, seconds)
	p.kinds[kind] = own
}

// seconds returns how long a job takes from its start to its end: in relation to its cost as long as
// the jobs of its kind, or as all jobs if none of its kind has finished. It is 0 if none has.
func (p *paces) seconds(d *demand) float64 {
	from := p.kinds[kindOfJob(d.job)]
	if !from.Known() {
		from = p.all
	}
	return from.Seconds(d.Cost())
}

// whole returns how long a job took that one attempt did; 0 for others.
func whole(record rundir.Record) time.Duration {
	if len(record) != 2 || record[0].Type != rundir.Started || record[1].Type != rundir.Done {
		return 0
	}
	return record[1].Time.Sub(record[0].Time)
}

// past returns how long processes before worked on a job whose checkpoint is there: until an attempt
// ended, or until the process that was killed last wrote the checkpoint.
func past(record rundir.Record, checkpoint string) (worked time.Duration) {
	info, err := os.Stat(checkpoint)
	if err != nil {
		return 0 // the job starts over
	}
	for i, e := range record {
		switch {
		case e.Type != rundir.Started:
		case i+1 < len(record) && record[i+1].Type != rundir.Started:
			worked += record[i+1].Time.Sub(e.Time)
		case i+1 == len(record):
			worked += max(0, info.ModTime().Sub(e.Time))
		}
	}
	return worked
}
