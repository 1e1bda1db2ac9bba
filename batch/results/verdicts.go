package results

import (
	"fmt"
	"strings"

	"gpfit/fit/summary"
)

// compareVerdicts takes the verdict "good" from a job beside which another job on the same rows is poor and beats it in error and
// density: its intervals may be right, but it is no better model.
func compareVerdicts(rows []Row, verdicts []*summary.Verdict) {
	type table struct{ data, split, each string }
	poor := map[table][]int{}
	for k, v := range verdicts {
		if v != nil && v.Level == summary.Poor {
			on := table{rows[k].Data, rows[k].Split, rows[k].Each}
			poor[on] = append(poor[on], k)
		}
	}
	for i, v := range verdicts {
		if v == nil || v.Level != summary.Good {
			continue
		}
		good := &rows[i]
		for _, k := range poor[table{good.Data, good.Split, good.Each}] {
			if beats(verdicts[k], v) {
				good.Level, good.Verdict = string(summary.Fair), string(summary.Fair)+strings.TrimPrefix(good.Verdict, good.Level)
				texts := append(warnings(good), fmt.Sprintf("job %s is poor, and has a lower error and a lower NLPD of the same rows", rows[k].Job))
				good.Warnings, good.WarningTexts = len(texts), jsonText(texts)
				break
			}
		}
	}
}

// beats reports whether one model has a lower error and a lower NLPD of the same rows than another.
func beats(one, other *summary.Verdict) bool {
	return one.Rows == other.Rows && one.RMSEStandardized < other.RMSEStandardized && one.NLPDStandardized < other.NLPDStandardized
}
