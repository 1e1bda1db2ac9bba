package queue

import (
	"math"
	"time"
)

// Pace estimates the time left of jobs from the time that others took for their cost.
type Pace struct {
	Began time.Time
	cost  float64
	busy  time.Duration
}

// A Current job has run for a while; jobs that wait have not.
type Current struct {
	Cost float64
	Ran  time.Duration
}

// Add adds a finished job.
func (p *Pace) Add(cost float64, busy time.Duration) { p.cost, p.busy = p.cost+cost, p.busy+busy }

// Left multiplies the remaining cost by the time per cost of the finished jobs, and divides by the average number
// of jobs that ran side by side. It is 0 if nothing has finished.
func (p *Pace) Left(waiting float64, running []Current) time.Duration {
	wall := time.Since(p.Began)
	if p.cost == 0 || wall <= 0 {
		return 0
	}
	perCost := float64(p.busy) / p.cost
	rest := waiting * perCost
	for _, c := range running {
		rest += math.Max(0.1*c.Cost*perCost, c.Cost*perCost-float64(c.Ran))
	}
	beside := math.Max(1, float64(p.busy)/float64(wall))
	return time.Duration(rest / beside)
}
