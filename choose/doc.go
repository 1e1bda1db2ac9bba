// Package choose compares kernels on one table, by likelihood and by predictive
// scores, and grows them:
//
//	Run        fit every kernel, or search for one   (choose.go)
//	neighbours the steps of the search               (grow.go)
//	Result     the comparison, as JSON and as text   (report.go)
//
// Start with [Run].
package choose
