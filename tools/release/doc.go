// Package release tests the scripts that make a release, the bills of materials that they write,
// and the files that a public host of the repository reads.
package release
