package messages

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"gpfit/device"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/textform"
)

// Step shows which part of a long command begins.
func (m *Writer) Step(format string, args ...any) {
	m.show(m.terminal, fmt.Sprintf(format, args...))
}

// Status is Step for a state that changes often.
func (m *Writer) Status(format string, args ...any) {
	m.show(false, fmt.Sprintf(format, args...))
}

func (m *Writer) show(always bool, status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status, m.fit, m.done, m.all = status, nil, 0, 0
	m.draw(status, always)
}

// Count shows how many of a number of equal parts are done, and about how much time is
// left, of what whose says, if it is not "". The first call of a count has done = 0.
func (m *Writer) Count(part string, done, all int, whose string) {
	m.mu.Lock()
	if done == 0 {
		m.counted = time.Now()
	}
	spent := time.Since(m.counted)
	m.mu.Unlock()
	text := fmt.Sprintf("%s %d of %d", part, min(done+1, all), all)
	var left time.Duration
	if done > 0 && done < all && spent > time.Second {
		left = spent * time.Duration(all-done) / time.Duration(done)
		text += fmt.Sprintf("; about %s left%s", Roughly(left), after(" ", whose))
	}
	m.Share(done == 0, done, all, left, text)
}

// Share shows the state of work of which done of all equal parts are done, and about how much time is left,
// if that is known. It always shows it if always is true.
func (m *Writer) Share(always bool, done, all int, left time.Duration, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status, m.fit, m.done, m.all, m.left = text, nil, done, all, left
	m.draw(text, always)
}

// after returns a text after a separator, "" if it is empty.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// Expect announces a fit with these stages, which Iteration and Progress then show. then is what follows
// the tuning and takes a time that is not known yet; "" if that is little.
func (m *Writer) Expect(stages []hyperopt.Expectation, then string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fit = &fitting{stages: stages, then: then}
}

// Iteration shows the state of a fit. It always shows the first one.
func (m *Writer) Iteration(it descent.Iteration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fit == nil {
		m.fit = &fitting{}
	}
	m.fit.accept(it, m.Objective, time.Now())
	m.draw(m.fit.text(time.Now()), it.Start == 0 && it.Iteration == 0)
}

// Progress shows how far a long evaluation is.
func (m *Writer) Progress(p device.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fit != nil {
		m.fit.progress(p)
	}
	if time.Since(m.last) < m.interval && !m.heard() {
		return
	}
	if m.fit != nil {
		m.draw(m.fit.text(time.Now()), false)
		return
	}
	status := m.status
	if status != "" {
		status += "; "
	}
	m.draw(fmt.Sprintf("%s%s %.0f %%", status, p.Stage, 100*share(p)), false)
}

func share(p device.Progress) float64 { return min(1, p.Done/max(p.Total, 1)) }

// draw shows a text whose clauses, separated by semicolons, are in the order of their importance.
func (m *Writer) draw(text string, always bool) {
	if m.heard() {
		m.listener.Show(m.state(text))
	}
	if m.quiet || !always && time.Since(m.last) < m.interval {
		return
	}
	m.last = time.Now()
	text = textform.Printable(fmt.Sprintf("[%s] %s", clock(time.Since(m.began)), text), longest)
	if !m.terminal {
		fmt.Fprintln(m.w, "gpfit: "+text)
		return
	}
	if width, _, err := term.GetSize(int(m.w.(*os.File).Fd())); err == nil && width > 0 {
		text = within(text, width-1)
	}
	fmt.Fprint(m.w, "\r"+text+"\x1b[K")
	m.drawn = true
	if !m.ticking {
		m.ticking = true
		go m.tick()
	}
}

// state returns the status for a listener, with the text for people.
func (m *Writer) state(text string) Status {
	s := Status{Text: text, Done: float64(m.done), Total: float64(m.all), SecondsLeft: m.left.Seconds()}
	if m.fit == nil {
		return s
	}
	values, _ := m.fit.expected()
	s.Done, s.SecondsLeft = float64(m.fit.done)+m.fit.part, m.fit.left(time.Now()).Seconds()
	if len(m.fit.stages) > 0 {
		s.Total = float64(values)
	}
	if m.fit.begun {
		s.Value, s.Best = finite(m.fit.it.F), finite(m.fit.it.Best)
	}
	return s
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// tick redraws the line of progress while there is one, so that its times go on.
func (m *Writer) tick() {
	for range time.Tick(time.Second) {
		m.mu.Lock()
		switch {
		case !m.drawn || time.Since(m.last) < time.Second:
		case m.fit != nil:
			m.draw(m.fit.text(time.Now()), true)
		default:
			m.draw(m.status, true)
		}
		m.mu.Unlock()
	}
}

// clock formats a time: tenths of a second below a minute, whole seconds above.
func clock(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}

// within shortens a line of progress to a width by whole clauses, the last one first, and
// then by the words that are understood without.
func within(text string, width int) string {
	fits := func() bool { return utf8.RuneCountInString(text) <= width }
	shorten := func(separator string) {
		for i := 0; !fits() && i >= 0; {
			if i = strings.LastIndex(text, separator); i >= 0 {
				text = text[:i]
			}
		}
	}
	shorten("; ")
	if !fits() {
		text = strings.NewReplacer("evaluation ", "", " of about ", "/").Replace(text)
	}
	shorten(", ")
	shorten(" ")
	if !fits() {
		return ""
	}
	return text
}

// fitting is the state of a fit.
type fitting struct {
	stages []hyperopt.Expectation
	then   string
	// it is the latest iteration, and objective names its values.
	it        descent.Iteration
	objective string
	begun     bool // the first iteration is done
	// done counts the values of the stage. part is the share of the value under way, and
	// under is its last report, if any.
	done  int
	part  float64
	under device.Progress
	// since is when the stage began, after its first values.
	since time.Time
	first int
	// before is the time of a value in the stage before, with so many rows; 0 if that is not known.
	before     float64
	beforeRows int
}

// accept takes over an iteration.
func (f *fitting) accept(it descent.Iteration, objective string, now time.Time) {
	if !f.begun || it.Rows != f.it.Rows || it.Total.Value < f.it.Total.Value {
		if done := f.done - f.first; f.begun && done > 0 && f.it.Rows > 0 && f.it.Rows < it.Rows {
			f.before, f.beforeRows = now.Sub(f.since).Seconds()/float64(done), f.it.Rows
		}
		f.since, f.first = now, it.Total.Value
	}
	if objective == "" {
		objective = "NLML"
	}
	f.begun, f.it, f.objective = true, it, objective
	f.done, f.part, f.under = it.Total.Value, 0, device.Progress{}
}

// progress takes over the progress of an evaluation: a third of its operations are in the
// factorization, and two thirds in the gradient.
func (f *fitting) progress(p device.Progress) {
	switch p.Stage {
	case "factor":
		if f.under.Stage == "gradient" || f.under.Stage != "" && p.Done <= f.under.Done {
			f.done++ // a value after which no iteration was accepted
		}
		f.part = share(p) / 3
	case "gradient":
		f.part = 1.0/3 + share(p)*2/3
	default:
		return
	}
	f.under = p
}

// expected returns about how many values the stage takes, and the later stages.
func (f *fitting) expected() (values int, later []hyperopt.Expectation) {
	for i, s := range f.stages {
		// An iteration has 0 rows if it has all of them. Halves may lack a row.
		here := !f.begun || f.it.Rows > 0 && s.Rows >= f.it.Rows
		if here || i == len(f.stages)-1 {
			values, later = s.Values, f.stages[i+1:]
			break
		}
	}
	// A stage that takes more values than usual is near its end, but nobody knows.
	return max(values, f.done+max(1, f.done/8)), later
}

// left returns about how much time is left, or 0 if that is not known yet.
func (f *fitting) left(now time.Time) time.Duration {
	done := float64(f.done-f.first) + f.part
	if !f.begun || len(f.stages) == 0 || done < 0.2 || now.Sub(f.since) < time.Second {
		return 0
	}
	each := now.Sub(f.since).Seconds() / done
	values, later := f.expected()
	seconds := each * max(0, float64(values-f.done)-f.part)
	power := f.power(each)
	for _, s := range later {
		seconds += each * math.Pow(float64(s.Rows)/float64(f.it.Rows), power) * float64(s.Values)
	}
	return time.Duration(seconds * float64(time.Second))
}

// power returns the power of the number of rows by which the time of a value grows: 3, as with a matrix of all rows, or
// less if this stage and the one before show that the method takes less.
func (f *fitting) power(each float64) float64 {
	if f.before == 0 || f.it.Rows <= f.beforeRows {
		return 3
	}
	return min(3, max(1, math.Log(each/f.before)/math.Log(float64(f.it.Rows)/float64(f.beforeRows))))
}

// text describes the state in clauses, the most important first.
func (f *fitting) text(now time.Time) string {
	running := fmt.Sprintf("evaluation %d", f.done+1)
	if values, _ := f.expected(); len(f.stages) > 0 {
		running += fmt.Sprintf(" of about %d", values)
	}
	if f.part > 0 {
		running += fmt.Sprintf(", %.0f %%", 100*f.part)
	}
	clauses := []string{running}
	if left := f.left(now); left > 0 {
		clauses = append(clauses, "about "+Roughly(left)+" left"+after(" of the tuning, then ", f.then))
	}
	if !f.begun {
		return strings.Join(clauses, "; ")
	}
	if f.it.Rows > 0 {
		clauses = append(clauses, fmt.Sprintf("%d rows", f.it.Rows))
	}
	clauses = append(clauses, fmt.Sprintf("%s %.6f", f.objective, f.it.F), fmt.Sprintf("gradient %.2g", f.it.GradientNorm),
		fmt.Sprintf("start %d, iteration %d", f.it.Start, f.it.Iteration))
	if f.it.Best < f.it.F {
		clauses = append(clauses, fmt.Sprintf("best %.6f", f.it.Best))
	}
	return strings.Join(clauses, "; ")
}

// Roughly rounds an estimated time, which is known to one digit or two.
func Roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return max(d, time.Second).Round(time.Second).String()
	case d < time.Minute:
		return d.Round(5 * time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return strings.TrimSuffix(d.Round(10*time.Minute).String(), "0s")
}
