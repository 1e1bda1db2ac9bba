package results

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"gpfit/fit/summary"
)

// TestCompareVerdicts checks that no job stays good beside a poor one that beats it in both scores on the same rows.
func TestCompareVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	levels := []summary.Level{summary.Good, summary.Fair, summary.Poor, summary.Unknown}
	for range 500 {
		var all []Row
		var verdicts []*summary.Verdict
		for k := range 6 {
			v := &summary.Verdict{Level: levels[rng.IntN(4)], Rows: summary.HeldOutRows, RMSEStandardized: summary.Number(rng.IntN(5)), NLPDStandardized: summary.Number(rng.IntN(5))}
			all = append(all, Row{Job: strconv.Itoa(k), Data: strconv.Itoa(rng.IntN(2)), Level: string(v.Level), Verdict: string(v.Level) + ": scores"})
			verdicts = append(verdicts, v)
		}
		verdicts[5] = nil // it failed
		compareVerdicts(all, verdicts)
		for i, v := range verdicts[:5] {
			beaten := false
			for k, w := range verdicts[:5] {
				beaten = beaten || w.Level == summary.Poor && all[i].Data == all[k].Data && w.RMSEStandardized < v.RMSEStandardized && w.NLPDStandardized < v.NLPDStandardized
			}
			want := v.Level
			if want == summary.Good && beaten {
				want = summary.Fair
			}
			if all[i].Level != string(want) || all[i].Verdict != string(want)+": scores" || (all[i].Warnings > 0) != (want != v.Level) {
				t.Fatalf("job %d of %+v: %+v, wanted %s", i, verdicts, all[i], want)
			}
		}
	}
}
