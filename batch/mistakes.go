package batch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpfit/internal/spec"
	"gpfit/internal/textform"
)

// mistakes are the mistakes of a spec that make jobs impossible, one for each place.
type mistakes struct {
	places []mistake
	jobs   int
	// fine are the jobs without mistakes.
	fine []spec.JobSpec
}

// mistake is a mistake at a place of the spec, with the jobs that it concerns.
type mistake struct {
	at    spec.Error
	found error
	jobs  []spec.JobSpec
}

// add adds a mistake of a job and reports whether there is one.
func (m *mistakes) add(j spec.JobSpec, err error) bool {
	var at *spec.Error
	if !errors.As(err, &at) {
		return false
	}
	m.jobs++
	i := slices.IndexFunc(m.places, func(p mistake) bool { return p.at.Line == at.Line && p.at.Column == at.Column })
	if i < 0 {
		i, m.places = len(m.places), append(m.places, mistake{at: *at, found: err})
	}
	m.places[i].jobs = append(m.places[i].jobs, j)
	return true
}

// err returns the mistakes, or nil.
func (m *mistakes) err() error {
	if m.places == nil {
		return nil
	}
	var found []error
	for _, p := range m.places {
		found = append(found, p.found)
		if advice := m.advice(p); advice != "" {
			found = append(found, errors.New(advice))
		}
	}
	if len(found) == 1 && m.jobs == 1 {
		return found[0]
	}
	return fmt.Errorf("%w\nthis concerns %d jobs; no job has run", errors.Join(found...), m.jobs)
}

// advice says how to divide the batch if a mistake concerns some kernels and not others.
func (m *mistakes) advice(p mistake) string {
	var suits, not []string
	for _, j := range p.jobs {
		if !slices.Contains(not, j.Kernel) {
			not = append(not, j.Kernel)
		}
	}
	for _, j := range m.fine {
		sameData := slices.ContainsFunc(p.jobs, func(wrong spec.JobSpec) bool { return wrong.Data == j.Data })
		if sameData && !slices.Contains(not, j.Kernel) && !slices.Contains(suits, j.Kernel) {
			suits = append(suits, j.Kernel)
		}
	}
	if suits == nil {
		return ""
	}
	return fmt.Sprintf("it suits %s, but not %s: move it to the kernels that it suits, or to an entry of overrides with match: {kernel: [%s]}",
		kernelList(suits), kernelList(not), strings.Join(suits, ", "))
}

// kernelList names kernels: the kernel rbf, or the kernels rbf and periodic.
func kernelList(names []string) string {
	if len(names) == 1 {
		return "the kernel " + names[0]
	}
	return "the kernels " + textform.And(names)
}
