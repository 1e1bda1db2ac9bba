package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
)

// job holds the flags of a command and its device.
type job struct {
	out, data, label, coarse string
	only                     *regexp.Regexp
	restarts, seeds          int
	tables                   uint64
	held, dev                bool
	b                        device.Backend
}

// each computes the results that are not in the file, and adds them.
func (j *job) each(compute func(p pair, d problem.Data, seed uint64) (result, error)) error {
	done, err := read(j.out)
	if err != nil {
		return err
	}
	for seed := range uint64(j.seeds) {
		for _, p := range j.pairs() {
			if slices.ContainsFunc(done, func(r result) bool {
				return r.Pair == p.name() && r.Seed == seed && r.Label == j.label && r.Restarts == j.restarts && r.Tables == j.tables
			}) {
				continue
			}
			began := time.Now()
			d, err := p.data(j.data, j.tables)
			if err != nil {
				return err
			}
			r, err := compute(p, d, seed)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", p.name(), seed, err)
			}
			r.Pair, r.Tables, r.Label, r.Restarts, r.Seed, r.Seconds = p.name(), j.tables, j.label, j.restarts, seed, time.Since(began).Seconds()
			if err := j.add(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// pairs returns the pairs that the flags select.
func (j *job) pairs() []pair {
	var out []pair
	for _, p := range pairs() {
		if j.only.MatchString(p.name()) && (!j.held || p.held) && (!j.dev || !p.held) {
			out = append(out, p)
		}
	}
	return out
}

// result is one line of a file of results.
type result struct {
	Pair string `json:"pair"`
	// Tables says from which random numbers the tables were made; 0 are the suite's own.
	Tables uint64  `json:"tables,omitempty"`
	Label  string  `json:"label,omitempty"`
	NLML   float64 `json:"nlml"`
	// Starts counts the long starts, and Near the starts that ended within half a nat of the best.
	Starts int `json:"starts,omitempty"`
	Near   int `json:"near,omitempty"`
	// Restarts and Seed describe a run, Cost its evaluations, in values with gradient
	// over all rows.
	Restarts int     `json:"restarts"`
	Seed     uint64  `json:"seed"`
	Cost     float64 `json:"cost"`
	// Hessians is the part of Cost that is an estimate.
	Hessians   float64            `json:"hessians,omitempty"`
	Seconds    float64            `json:"seconds"`
	Status     string             `json:"status,omitempty"`
	Parameters map[string]float64 `json:"parameters,omitempty"`
	// Term is the lowest NLML of a sum's terms alone, tuned in the same way; nil without a sum.
	Term *float64 `json:"term,omitempty"`
	// Search and Warnings are the report's words on the optimum.
	Search   json.RawMessage `json:"search,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// read returns the results in a file; none if it does not exist.
func read(path string) ([]result, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []result
	for lines := json.NewDecoder(f); ; {
		var r result
		if err := lines.Decode(&r); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, r)
	}
}

// add appends a result to the file.
func (j *job) add(r result) error {
	f, err := os.OpenFile(j.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(r), f.Close())
}
