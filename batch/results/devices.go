package results

import (
	"cmp"
	"slices"
	"time"
)

// DeviceUse is the work of a device of a host for a run.
type DeviceUse struct {
	Device string `json:"device"`
	Host   string `json:"host"`
	Jobs   int    `json:"jobs"`
	// BusySeconds is the time in which at least one of these jobs ran.
	BusySeconds   float64 `json:"busy_seconds"`
	JobsPerSecond float64 `json:"jobs_per_second"`
}

// Uses returns what each device did, by its name, for the jobs that are done. Several jobs may have run on a device at a time.
func Uses(rows []Row) []DeviceUse {
	type span struct{ from, to time.Time }
	type key struct{ device, host string }
	spans := map[key][]span{}
	for _, r := range rows {
		from, err := time.Parse(time.RFC3339Nano, r.Began)
		to, err2 := time.Parse(time.RFC3339Nano, r.Ended)
		if err != nil || err2 != nil { // not done
			continue
		}
		at := key{r.Device, r.Host}
		spans[at] = append(spans[at], span{from, to})
	}
	var out []DeviceUse
	for at, all := range spans {
		slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
		use, end := DeviceUse{Device: at.device, Host: at.host, Jobs: len(all)}, time.Time{}
		for _, s := range all {
			if s.from.Before(end) {
				s.from = end
			}
			if s.to.After(s.from) {
				use.BusySeconds += s.to.Sub(s.from).Seconds()
				end = s.to
			}
		}
		if use.BusySeconds > 0 {
			use.JobsPerSecond = float64(use.Jobs) / use.BusySeconds
		}
		out = append(out, use)
	}
	slices.SortFunc(out, func(a, b DeviceUse) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Host, b.Host))
	})
	return out
}
