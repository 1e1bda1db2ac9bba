package messages

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/hyperopt"
	"gpfit/internal/pace"
	"gpfit/internal/textform"
)

// Status shows what a long command does. In a fit, it says what the fit does besides.
func (m *Writer) Status(format string, args ...any) {
	m.mu.Lock()
	f := m.fit
	m.mu.Unlock()
	if text := fmt.Sprintf(format, args...); f == nil {
		m.Share(false, 0, 0, 0, text)
	} else {
		m.Part(f.Share, text)
	}
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
		text += fmt.Sprintf("; about %s left%s", Roughly(left), strings.TrimSuffix(" "+whose, " "))
	}
	m.Share(done == 0, done, all, left, text)
}

// Share shows the state of work of which done of all equal parts are done, and about how much time is left,
// if that is known. It always shows it if always is true.
func (m *Writer) Share(always bool, done, all int, left time.Duration, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status, m.fit, m.done, m.all, m.left = text, nil, done, all, left
	m.ends = all > 0 && done == all
	m.draw(text, always)
	m.ends = false
}

// before returns a text before a separator, "" if it is empty.
func before(text, separator string) string {
	if text == "" {
		return ""
	}
	return text + separator
}

// Within makes the fits that follow the part of the work from one share to another. what names them, "" if they are all.
func (m *Writer) Within(from, to float64, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.from, m.to, m.what = from, to, what; m.fit != nil {
		m.fit.also = ""
	}
}

// Fit shows how far a fit is, and its end to a listener in any case.
func (m *Writer) Fit(p hyperopt.FitProgress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fit == nil {
		m.fit = &fitting{}
	}
	p.Share = max(m.fit.Share, m.from+(m.to-m.from)*p.Share)
	if p.Left > 0 && m.to-m.from < 1 {
		p.Left = time.Duration(float64(time.Since(m.began)) * (1 - p.Share) / p.Share)
	}
	m.fit.FitProgress, m.fit.objective = p, m.Objective
	m.showFit()
}

// Part shows that a share of the work is done, after a fit and in these words.
func (m *Writer) Part(share float64, words string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fit != nil {
		m.fit.Share, m.fit.also = max(m.fit.Share, share), words
		m.showFit()
	}
}

func (m *Writer) showFit() {
	first := m.fit.Begun && !m.printed
	if ends := m.fit.Share == 1; first || ends || time.Since(m.last) >= m.interval || m.heard() {
		m.ends = ends
		m.draw(m.fit.text(m.what), first || ends && m.printed)
		m.ends = false
	}
}

// Progress shows how far a long evaluation outside of a fit is.
func (m *Writer) Progress(p device.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fit != nil || time.Since(m.last) < m.interval && !m.heard() {
		return
	}
	m.draw(fmt.Sprintf("%s%s %.0f %%", before(m.status, "; "), p.Stage, 100*min(1, p.Done/max(p.Total, 1))), false)
}

// draw shows a text whose clauses, separated by semicolons, are in the order of their importance.
func (m *Writer) draw(text string, always bool) {
	if m.listener != nil && m.ends || m.heard() {
		m.listener.Show(m.state(text))
	}
	if m.quiet || !always && time.Since(m.last) < m.interval {
		return
	}
	m.last, m.printed = time.Now(), true
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
	p := m.fit
	s.Done, s.Total, s.SecondsLeft = 100*p.Share, 100, p.Left.Seconds()
	s.Best = summary.Finite(p.Best)
	if p.Begun {
		s.Value = summary.Finite(p.Iteration.F)
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
			m.draw(m.fit.text(m.what), true)
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

// within shortens a line of progress to a width by whole clauses, the last one first.
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
	shorten(", ")
	shorten(" ")
	if !fits() {
		return ""
	}
	return text
}

// fitting is the state of a fit. objective names the values of its iterations, and also says what the fit does besides.
type fitting struct {
	hyperopt.FitProgress
	objective, also string
}

// text describes the state in clauses, the most important first. what names the fit.
func (f *fitting) text(what string) string {
	clauses := []string{before(what, ", ") + fmt.Sprintf("%.0f %%", math.Floor(100*f.Share))}
	if f.Left > 0 {
		clauses = append(clauses, "about "+Roughly(f.Left)+" left")
	}
	if f.also != "" {
		clauses = append(clauses, f.also)
	}
	if !math.IsInf(f.Best, 0) {
		clauses = append(clauses, fmt.Sprintf("best %s %.6f", cmp.Or(f.objective, "NLML"), f.Best))
	}
	if f.Share == 1 {
		return strings.Join(clauses, "; ")
	}
	clauses = append(clauses, fmt.Sprintf("evaluation %d", f.Evaluations+1))
	if it := f.Iteration; f.Begun && f.also == "" {
		if it.Rows > 0 {
			clauses = append(clauses, fmt.Sprintf("%d rows", it.Rows))
		}
		clauses = append(clauses, fmt.Sprintf("now %.6f", it.F), fmt.Sprintf("gradient %.2g", it.GradientNorm),
			fmt.Sprintf("start %d, iteration %d", it.Start, it.Iteration))
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
