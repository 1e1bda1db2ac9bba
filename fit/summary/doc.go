// Package summary holds the results of a fit, an evaluation, a profile or an update, as JSON
// and as text for people.
package summary
