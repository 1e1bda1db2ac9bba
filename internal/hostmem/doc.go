// Package hostmem says how much memory the host has left.
package hostmem
