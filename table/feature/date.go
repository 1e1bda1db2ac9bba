package feature

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gpfit/internal/textform"
)

// Unit is a unit of time.
type Unit string

// The units. A year is the mean year of the Gregorian calendar, 365.2425 days.
const (
	Seconds Unit = "seconds"
	Minutes Unit = "minutes"
	Hours   Unit = "hours"
	Days    Unit = "days"
	Weeks   Unit = "weeks"
	Years   Unit = "years"
)

// DefaultOrigin is the date that becomes 0 unless rules name another.
const DefaultOrigin = "1970-01-01"

var unitSeconds = map[Unit]float64{
	Seconds: 1, Minutes: 60, Hours: 3600, Days: 86400, Weeks: 7 * 86400, Years: 365.2425 * 86400,
}

// Units returns all units.
func Units() []Unit { return []Unit{Seconds, Minutes, Hours, Days, Weeks, Years} }

// Span names a difference in a unit in seconds, minutes, hours or days, of which it is two or more; a number without a unit.
func (u Unit) Span(v float64) string {
	seconds, of := v*unitSeconds[u], Seconds
	for _, unit := range Units()[:4] {
		if seconds >= 2*unitSeconds[unit] {
			of = unit
		}
	}
	if u == "" {
		return strconv.FormatFloat(v, 'g', 5, 64)
	}
	return strconv.FormatFloat(seconds/unitSeconds[of], 'g', 5, 64) + " " + string(of)
}

// Unit returns the unit of a column with dates or times of day, "" of others.
func (e *Encoding) Unit(name string) Unit {
	if e == nil {
		return ""
	}
	k := slices.IndexFunc(e.Columns, func(c Coding) bool { return c.Name == name })
	if k < 0 {
		return ""
	}
	return e.Columns[k].Unit
}

func (u Unit) check() error {
	if unitSeconds[u] == 0 {
		return fmt.Errorf("the unit %q is none of %v", string(u), Units())
	}
	return nil
}

// since returns the time from origin to t. Whole seconds are exact.
func (u Unit) since(t, origin time.Time) float64 {
	seconds := float64(t.Unix() - origin.Unix())
	if nanos := t.Nanosecond() - origin.Nanosecond(); nanos != 0 {
		seconds += float64(nanos) / 1e9
	}
	return seconds / unitSeconds[u]
}

// after returns the time that lies v units after origin, to the second.
func (u Unit) after(v float64, origin time.Time) time.Time {
	return time.Unix(origin.Unix()+int64(math.Round(v*unitSeconds[u])), 0).UTC()
}

// days are the forms of a date, times the forms of the time of day after it, and zones
// the forms of the time zone after that. Seconds may have a fraction.
var (
	days  = []string{"2006-01-02", "2006/01/02", "2006.01.02", "02.01.2006", "2.1.2006"}
	times = []string{"15:04:05", "15:04"}
	zones = []string{"", "Z07:00", "Z0700", "Z07", " Z07:00", " Z0700"}
)

// DateOrder is an order of day and month.
type DateOrder string

// The orders.
const (
	DayFirst   DateOrder = "dmy"
	MonthFirst DateOrder = "mdy"
)

// DateOrders returns all orders.
func DateOrders() []DateOrder { return []DateOrder{DayFirst, MonthFirst} }

// Reads reports whether a text is a date in the order.
func (o DateOrder) Reads(text string) bool {
	_, err := (&dateReader{order: o}).parse(text)
	return err == nil
}

// orders are the layouts of dates, in the language of package time, by their order, which some forms need.
var orders = sync.OnceValue(func() map[DateOrder][]string {
	layouts := slices.Concat([]string{"2006-01", "20060102", "20060102T150405", "20060102T150405Z0700"}, withTimes(days)) // need no order
	return map[DateOrder][]string{
		"":         layouts,
		DayFirst:   slices.Concat(layouts, withTimes([]string{"2/1/2006", "2-1-2006", "2/1/06", "2-1-06", "2.1.06"})),
		MonthFirst: slices.Concat(layouts, withTimes([]string{"1/2/2006", "1-2-2006", "1/2/06", "1-2-06", "1.2.06"})),
	}
})

// withTimes returns forms of dates, alone and with each form of a time of day and of its zone.
func withTimes(days []string) []string {
	all := slices.Clone(days)
	for _, day := range days {
		for _, between := range []string{"T", " "} {
			for _, clock := range times {
				for _, zone := range zones {
					all = append(all, day+between+clock+zone)
				}
			}
		}
	}
	return all
}

// dateReader parses dates. It tries the form of the date before first.
type dateReader struct {
	last  string
	order DateOrder
}

// unclear matches dates whose order of day and month nobody can know.
var unclear = regexp.MustCompile(`^\d{1,2}(?:[/-]\d{1,2}[/-](\d{4}|\d{2})|\.\d{1,2}\.\d{2})(?:[ T].*)?$`)

// UnclearDate reports whether a text looks like a date, but may mean several.
func UnclearDate(text string) bool { return unclear.MatchString(text) }

func (r *dateReader) parse(text string) (time.Time, error) {
	const longest = 64
	if len(text) > longest {
		return time.Time{}, notDate(text)
	}
	given := text
	if text = plainDate(text); text == "" || text[0] < '0' || text[0] > '9' {
		return time.Time{}, notDate(given)
	}
	if r.last != "" {
		if t, err := time.Parse(r.last, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range orders()[r.order] {
		if t, err := time.Parse(layout, text); err == nil {
			r.last = layout
			return t, nil
		}
	}
	if UnclearDate(text) {
		return time.Time{}, fmt.Errorf("is the day or the month first in %s? Say so by option date-order dmy or mdy", textform.Quote(text))
	}
	return time.Time{}, notDate(text)
}

// Dates with the name of the month, and times with the half of the day.
var (
	monthSecond = regexp.MustCompile(`^(?:[A-Z][a-z]+,? )?(\d{1,2})(?:[-/ ]|\. ?)([A-Za-z]{3,9})[-/., ]+(\d{4}|\d\d)(?:[: ](.*))?$`)
	monthFirst  = regexp.MustCompile(`^(?:[A-Z][a-z]+,? )?([A-Z][a-z]{2,8})\.? +(\d{1,2})(?:, | )(?:(\d\d:\d\d:\d\d) )?(\d{4})(?: (.*))?$`)
	half        = regexp.MustCompile(`(?i)^(.*?)(\d{1,2}:\d\d(?::\d\d)?) ?([ap]m)$`)
)

// plainDate writes a date with the name of its month, or with am or pm, as one of numbers. It returns other texts as they are.
func plainDate(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Y' && r != 'T' }) < 0 {
		return text
	}
	text = strings.TrimSuffix(text, " UTC")
	if m := half.FindStringSubmatch(text); m != nil {
		for _, layout := range []string{"3:04:05PM", "3:04PM"} {
			if t, err := time.Parse(layout, m[2]+strings.ToUpper(m[3])); err == nil {
				text = m[1] + t.Format("15:04:05")
			}
		}
	}
	day, month, year, clock := "", "", "", ""
	if m := monthSecond.FindStringSubmatch(text); m != nil {
		day, month, year, clock = m[1], m[2], m[3], m[4]
	} else if m := monthFirst.FindStringSubmatch(text); m != nil {
		month, day, year, clock = m[1], m[2], m[4], m[3]+m[5]
	}
	for _, layout := range []string{"2 Jan 2006", "2 January 2006", "2 Jan 06"} {
		if t, err := time.Parse(layout, day+" "+month+" "+year); err == nil {
			return strings.TrimSpace(t.Format("2006-01-02 ") + clock)
		}
	}
	return text
}

func notDate(text string) error {
	return fmt.Errorf("not a date such as 2024-01-31 or 2024-01-31T14:30:00Z: %s", textform.Quote(text))
}

// ParseDate parses a date in one of these forms. The time of day may be missing, seconds may be
// missing or have a fraction, a time without a zone is UTC, and a month means its first day:
//
//	2024-01-31T14:30:05Z        2024-01-31 14:30:05+02:00     2024-01
//	2024/01/31 14:30            31.01.2024 14:30              20240131T143005
func ParseDate(text string) (time.Time, error) {
	var r dateReader
	return r.parse(text)
}

// midnight is the beginning of the day of the times that parseClock returns.
var midnight = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)

// parseClock parses a time of day such as 14:30 or 14:30:15.5.
func parseClock(text string) (time.Time, bool) {
	text = plainDate(text)
	for _, layout := range times {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
