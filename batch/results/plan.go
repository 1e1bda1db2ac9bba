package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gpfit/batch"
	"gpfit/device"
	"gpfit/fit/fields"
	"gpfit/internal/textform"
)

// WritePlan writes the expected memory, operations and time of the jobs of a batch and of all together, as
// a table for people or as JSON lines of the types "planned_job" and "planned_run".
func WritePlan(w io.Writer, asJSON bool, estimates []batch.Estimate, all batch.Forecast) error {
	if !asJSON {
		return writePlanTable(w, estimates, all)
	}
	for _, e := range estimates {
		line := map[string]any{
			"type": "planned_job", "schema_version": SchemaVersion, "job": e.Job.ID, "fingerprint": e.Job.Fingerprint,
			"n": e.Job.N, "d": e.Job.D, "device": e.Job.Options.Device, "expected_device": e.Device, "threads": e.Job.Options.Threads, "host_bytes": e.HostBytes(),
			"device_bytes": e.DeviceBytes(), "flops_gradient": e.FlopsGradient, "estimated_seconds": e.Seconds, "planned_for": e.Model,
		}
		if e.Job.Each != nil {
			line["jobs"] = e.Job.Fits()
		}
		if err := json.NewEncoder(w).Encode(line); err != nil {
			return err
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"type": "planned_run", "schema_version": SchemaVersion, "jobs": fits(estimates), "jobs_on_cores": all.OnCores,
		"jobs_on_accelerators": all.OnAccelerators, "cores": all.Cores, "estimated_seconds": all.Seconds,
	})
}

func writePlanTable(out io.Writer, estimates []batch.Estimate, all batch.Forecast) error {
	t := fields.Table{Heads: fields.Numbers("job", "n", "d", "device", "threads", "memory", "operations", "estimated time")}
	seconds, operations, biggest, model := 0.0, 0.0, int64(0), ""
	for _, e := range estimates {
		seconds, operations, biggest, model = seconds+e.Seconds, operations+e.Operations, max(biggest, bytesOf(e)), cmp.Or(model, e.Model)
	}
	for rest := estimates; len(rest) > 0; {
		parts := 1
		for parts < len(rest) && rest[parts].Job.Whole() == rest[0].Job.Whole() {
			parts++
		}
		addPlan(&t, rest[:parts])
		rest = rest[parts:]
	}
	_, err := fmt.Fprintf(out, "%s\n%d jobs, %.2g operations, at most %s for one job, %s one after another\n",
		t.Text(), fits(estimates), operations, device.FormatBytes(biggest), duration(seconds))
	if all.OnAccelerators > 0 {
		_, err = fmt.Fprintf(out, "side by side, %d jobs are expected on accelerators and %d on %s, %s in all\n",
			all.OnAccelerators, all.OnCores, textform.Counted(all.Cores, "core"), duration(all.Seconds))
	}
	if model != "" {
		_, err = fmt.Fprintf(out, "this machine has no device for some jobs: their plans are for one %s\n", model)
	}
	return err
}

// addPlan adds the row of a job, or of all its parts: their largest fit, and what they take in all.
func addPlan(t *fields.Table, parts []batch.Estimate) {
	most, ops, seconds := parts[0], 0., 0.
	for _, e := range parts {
		if ops, seconds = ops+e.Operations, seconds+e.Seconds; e.Job.N > most.Job.N {
			most = e
		}
	}
	name := most.Job.Whole()
	if most.Job.Each != nil {
		name += fmt.Sprintf(" (%s)", textform.Counted(fits(parts), "job"))
	}
	t.Add(name, fmt.Sprint(most.Job.N), fmt.Sprint(most.Job.D), placeOf(most), fmt.Sprint(*most.Job.Options.Threads), device.FormatBytes(bytesOf(most)), fmt.Sprintf("%.2g", ops), duration(seconds))
}

func bytesOf(e batch.Estimate) int64 { return e.HostBytes() + e.DeviceBytes() }

// fits returns the number of jobs, where each value of a part counts.
func fits(estimates []batch.Estimate) (n int) {
	for _, e := range estimates {
		n += e.Job.Fits()
	}
	return n
}

// placeOf names the device of a job, and which device the job is expected to take if it may take several.
func placeOf(e batch.Estimate) string {
	name := *e.Job.Options.Device
	if name == device.Auto && e.Device != "" {
		return name + ": " + e.Device
	}
	return name
}

func duration(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	unit := 100 * time.Millisecond
	if seconds < 1 {
		unit = time.Millisecond
	}
	return time.Duration(seconds * float64(time.Second)).Round(unit).String()
}
