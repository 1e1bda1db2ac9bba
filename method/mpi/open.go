package mpi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/device/part"
	"gpfit/method/mpi/engine"
)

// open opens what this rank computes with. The error on rank 0 is the first error of any rank.
func (g *group) open(c *call) error {
	if c.Card != "" {
		return g.join(c)
	}
	grid, err := engine.Open(g.world, c.Shape, c.Engine)
	if err != nil {
		return err
	}
	grid.SetThreads(g.team.Size())
	g.slow.Store(grid.Slow())
	g.grid = grid
	return nil
}

// join opens the card of this rank and joins the others'.
func (g *group) join(c *call) (err error) {
	g.device, g.cards = c.device, c.Shape
	if g.world.Rank > 0 {
		g.device, err = g.ownCard(c.Card)
	}
	if err == nil {
		_, err = g.device.Joins()
	}
	if err = g.world.FirstError(err); err != nil {
		return err
	}
	card, err := g.device.Join(part.Rank{Shape: c.Shape, Number: g.world.Rank, Broadcast: g.world.Announce, Largest: g.world.Largest})
	if err = g.world.FirstError(err); err != nil && g.world.Size == 1 {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w (each rank needs a card of its own: start as many ranks on a node as it has cards)", err)
	}
	g.card = card
	return nil
}

// ownCard opens the card of a rank other than 0: among the cards of its node that many after the card of rank 0 as there are ranks
// before it on the node.
func (g *group) ownCard(first string) (part.Device, error) {
	kind := device.Kind(first)
	at := slices.IndexFunc(g.drivers, func(d device.Driver) bool { return d.Kind() == kind })
	if at < 0 {
		return nil, fmt.Errorf("this program has no driver for %s", first)
	}
	driver, ctx := g.drivers[at], context.Background()
	var names []string
	why := errors.New("there is no card")
	for _, f := range driver.Probe(ctx) {
		if f.Usable {
			names = append(names, f.Name)
		} else {
			why = errors.New(f.Detail)
		}
	}
	if len(names) == 0 {
		return nil, why
	}
	d, err := driver.Open(ctx, names[(max(0, slices.Index(names, first))+g.world.Local)%len(names)], device.Options{})
	if err != nil {
		return nil, err
	}
	card, ok := d.(part.Device)
	if !ok {
		return nil, fmt.Errorf("%s cannot compute together with others", d.Info().Name)
	}
	return card, nil
}

// leave leaves the cards of the other ranks. Rank 0 closes its own card elsewhere.
func (g *group) leave() {
	if g.card == nil {
		return
	}
	_ = g.card.Close() // nothing is left to compute
	if g.world.Rank > 0 {
		_ = g.device.Close()
	}
	g.card, g.device = nil, nil
}
