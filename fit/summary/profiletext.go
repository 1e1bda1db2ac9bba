package summary

import (
	"fmt"
	"strings"

	"gpfit/fit/problem"
)

// Text returns a summary of the profile for people.
func (p *Profile) Text() string {
	var b strings.Builder
	label := problem.ObjectiveLabel(p.ObjectiveName)
	others := "the others tuned at each point"
	if p.Others == OthersHeld {
		others = "the others held at the best optimum"
	}
	fmt.Fprintf(&b, "%s of %d rows along parameters, %s\nkernel  %s\n", label, p.Report.N, others, p.Report.Kernel)
	p.writeOptima(&b, label)
	if p.Show == ProfileCurves {
		p.writeCurves(&b, label)
	} else {
		p.writeSurface(&b, label)
	}
	fmt.Fprintf(&b, "\n%d values and %d gradients after the fit, %.2f s\n", p.Evaluations.Value, p.Evaluations.Gradient, p.Seconds)
	return b.String()
}

// writeOptima prints the optima of the fit, a column for each.
func (p *Profile) writeOptima(b *strings.Builder, label string) {
	shown := p.Optima[:min(len(p.Optima), mostOptima)]
	width := 15
	for _, name := range p.Names {
		width = max(width, len([]rune(name)))
	}
	fmt.Fprintf(b, "\n%-*s", width, "optimum")
	for i := range shown {
		fmt.Fprintf(b, "  %12d", i)
	}
	fmt.Fprintf(b, "\n%-*s", width, label)
	for _, o := range shown {
		fmt.Fprintf(b, "  %12.4f", o.Objective)
	}
	for _, name := range p.Names {
		if _, free := shown[0].Parameters[name]; !free {
			continue
		}
		fmt.Fprintf(b, "\n%-*s", width, name)
		for _, o := range shown {
			fmt.Fprintf(b, "  %12.6g", o.Parameters[name])
		}
	}
	if more := len(p.Optima) - len(shown); more > 0 {
		fmt.Fprintf(b, "\n(and %d more)", more)
	}
	b.WriteByte('\n')
}

// writeCurves prints a line for each curve, and its minima if there are several.
func (p *Profile) writeCurves(b *strings.Builder, label string) {
	width := len("curve along")
	for _, s := range p.Sections {
		width = max(width, len([]rune(s.Axes[0].Name)))
	}
	fmt.Fprintf(b, "\n%-*s  %10s  %10s  %6s  %10s  %12s  %s\n", width, "curve along", "from", "to", "points", "lowest at", label, "95 % interval")
	for _, s := range p.Sections {
		a := s.Axes[0]
		fmt.Fprintf(b, "%-*s  %10.4g  %10.4g  %6d", width, a.Name, a.Values[0], a.Values[len(a.Values)-1], len(a.Values))
		if s.Lowest >= 0 {
			fmt.Fprintf(b, "  %10.4g  %12.4f  %s", a.Values[s.Lowest], s.Points[s.Lowest].F, s.Interval95.text())
		}
		b.WriteByte('\n')
	}
	for _, s := range p.Sections {
		if len(s.Minima) > 1 {
			s.writeMinima(b, label)
		}
	}
}

// writeMinima prints the minima of a section.
func (s *ProfileSection) writeMinima(b *strings.Builder, label string) {
	var parts []string
	for _, k := range s.Minima[:min(len(s.Minima), 2*mostOptima)] {
		parts = append(parts, fmt.Sprintf("%s (%s %.4f)", PointName(s.Axes, &s.Points[k]), label, s.Points[k].F))
	}
	fmt.Fprintf(b, "%d minima: %s", len(s.Minima), strings.Join(parts, "; "))
	if len(parts) < len(s.Minima) {
		b.WriteString("; …")
	}
	b.WriteByte('\n')
}

// writeSurface prints a contour or the grid of fits.
func (p *Profile) writeSurface(b *strings.Builder, label string) {
	s := &p.Sections[0]
	b.WriteByte('\n')
	for _, a := range s.Axes {
		fmt.Fprintf(b, "%s, %d points\n", a.text(), len(a.Values))
	}
	if p.Show == ProfileFits {
		for k := range s.Points {
			fmt.Fprintf(b, "%s  %s %.4f\n", PointName(s.Axes, &s.Points[k]), label, s.Points[k].Objective)
		}
		return
	}
	if s.Lowest >= 0 {
		fmt.Fprintf(b, "lowest point: %s, %s %.4f\n", PointName(s.Axes, &s.Points[s.Lowest]), label, s.Points[s.Lowest].F)
	}
	if len(s.Minima) > 1 {
		s.writeMinima(b, label)
	}
}

// text formats an interval, "-" if there is none.
func (i *ProfileInterval) text() string {
	if i == nil {
		return "-"
	}
	end := func(v *float64, none string) string {
		if v == nil {
			return none
		}
		return fmt.Sprintf("%.4g", *v)
	}
	text := end(i.Lower, "…") + " to " + end(i.Upper, "…")
	if i.Gaps {
		text += ", with gaps"
	}
	return text
}

// text describes the axis in one line.
func (a *ProfileAxis) text() string {
	return fmt.Sprintf("%s from %.6g to %.6g", a.Name, a.Values[0], a.Values[len(a.Values)-1])
}

// PointName names a point by the values that its section gives it.
func PointName(axes []ProfileAxis, p *ProfilePoint) string {
	var parts []string
	for _, a := range axes {
		parts = append(parts, fmt.Sprintf("%s=%.6g", a.Name, p.Parameters[a.Name]))
	}
	return strings.Join(parts, ", ")
}
