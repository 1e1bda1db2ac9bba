package messages

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/pace"
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
	var rate pace.Rate
	spent := time.Since(m.counted)
	rate.Add(float64(done), spent.Seconds())
	m.mu.Unlock()
	text := fmt.Sprintf("%s %d of %d", part, min(done+1, all), all)
	var left time.Duration
	if done > 0 && done < all && spent > time.Second {
		left = time.Duration(rate.Seconds(float64(all-done)) * float64(time.Second))
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

// Expect announces a fit with these stages, which Iteration and Progress then show. then names the work
// after the tuning whose time is not known yet; "" if that is little.
func (m *Writer) Expect(stages []hyperopt.Expectation, then string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fit = &fitting{Follower: hyperopt.Follower{Stages: stages}, then: then}
}

// Iteration shows the state of a fit. It always shows the first one.
func (m *Writer) Iteration(it descent.Iteration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fit == nil {
		m.fit = &fitting{}
	}
	m.fit.objective = m.Objective
	m.fit.Accept(it, time.Now())
	m.draw(m.fit.text(time.Now()), it.Start == 0 && it.Iteration == 0)
}

// Progress shows how far a long evaluation is.
func (m *Writer) Progress(p device.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fit != nil {
		m.fit.Advance(p)
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
	m.draw(fmt.Sprintf("%s%s %.0f %%", status, p.Stage, 100*min(1, p.Done/max(p.Total, 1))), false)
}

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
	p := m.fit.Progress(time.Now())
	s.Done, s.Total, s.SecondsLeft = float64(p.Evaluation-1)+p.Part, 0, p.Left.Seconds()
	if p.Values > 0 {
		s.Done, s.Total = p.Share*float64(p.Values), float64(p.Values)
	}
	if p.Begun {
		s.Value, s.Best = summary.Finite(p.Iteration.F), summary.Finite(p.Iteration.Best)
	}
	return s
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

// fitting is the state of a fit. objective names the values of its iterations.
type fitting struct {
	hyperopt.Follower
	objective, then string
}

// text describes the state in clauses, the most important first.
func (f *fitting) text(now time.Time) string {
	p := f.Progress(now)
	running := fmt.Sprintf("evaluation %d", p.Evaluation)
	if p.Expected > 0 {
		running += fmt.Sprintf(" of about %d", p.Expected)
	}
	if p.Part > 0 {
		running += fmt.Sprintf(", %.0f %%", 100*p.Part)
	}
	clauses := []string{running}
	if p.Left > 0 {
		clauses = append(clauses, "about "+Roughly(p.Left)+" left"+after(" of the tuning, then ", f.then))
	}
	if !p.Begun {
		return strings.Join(clauses, "; ")
	}
	it := p.Iteration
	if it.Rows > 0 {
		clauses = append(clauses, fmt.Sprintf("%d rows", it.Rows))
	}
	clauses = append(clauses, fmt.Sprintf("%s %.6f", cmp.Or(f.objective, "NLML"), it.F), fmt.Sprintf("gradient %.2g", it.GradientNorm),
		fmt.Sprintf("start %d, iteration %d", it.Start, it.Iteration))
	if it.Best < it.F {
		clauses = append(clauses, fmt.Sprintf("best %.6f", it.Best))
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
