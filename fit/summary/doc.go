// Package summary holds reports as JSON and as text for people: of a fit, an evaluation, a profile
// or an update.
package summary
