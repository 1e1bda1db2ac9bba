package tiles

// A use is an access of a worker to a tile that is not at home in the worker's bank.
type use struct {
	tile int32
	made bool // the worker has computed the tile itself
	next int32
	// version is the version of the tile that the worker needs.
	version int32
}

// never is the next use of a tile that is not used again.
const never = int32(1) << 30

// cache says which slots of a bank hold copies of tiles. uses are the accesses to come, in their order.
type cache struct {
	uses  []use
	at    int32
	slots []slot
	where map[int32]int // tile → index of its slot
	// last is the index of the slot of the last access, which the next one must leave.
	last int
}

// slot is a slot of a bank with the copy of a tile, −1 for none, and the position of its next use.
type slot struct {
	number int
	tile   int32
	due    int32
}

func newCache(numbers []int) *cache {
	c := &cache{}
	for _, n := range numbers {
		c.slots = append(c.slots, slot{number: n})
	}
	c.begin(nil)
	return c
}

// begin forgets all copies and takes the accesses of a pass.
func (c *cache) begin(uses []use) {
	c.uses, c.at, c.where, c.last = uses, 0, map[int32]int{}, -1
	for i := range c.slots {
		c.slots[i].tile, c.slots[i].due = -1, never
	}
	upcoming := map[int32]int32{}
	for i := len(uses) - 1; i >= 0; i-- {
		u := &c.uses[i]
		u.next = never
		if next, ok := upcoming[u.tile]; ok {
			u.next = next
		}
		upcoming[u.tile] = int32(i)
	}
}

// take returns the slot for the next access, and whether it holds the tile already. If not, the caller must copy it there.
func (c *cache) take() (number int, held bool) {
	u := c.uses[c.at]
	c.at++
	i, held := c.where[u.tile]
	if !held {
		i = c.victim()
		c.hold(i, u.tile)
	}
	c.slots[i].due, c.last = u.next, i
	return c.slots[i].number, held
}

// keep takes over a slot with a tile that the worker has computed, the next access, and returns a slot for
// the next result. The slot that it returns is the same one if the tile is not worth keeping.
func (c *cache) keep(number int) int {
	u := c.uses[c.at]
	c.at++
	if i, held := c.where[u.tile]; held { // an older version
		delete(c.where, u.tile)
		c.slots[i].tile, c.slots[i].due = -1, never
	}
	c.last = -1
	i := c.victim()
	if u.next >= c.slots[i].due {
		return number
	}
	free := c.slots[i].number
	c.hold(i, u.tile)
	c.slots[i].number, c.slots[i].due = number, u.next
	return free
}

// ahead returns the slot for the access at position p, if it is worth a copy in advance: the tile is not there, and all tiles that
// the cache holds instead are needed later.
func (c *cache) ahead(p int32) (number int, ok bool) {
	u := c.uses[p]
	if _, held := c.where[u.tile]; held || u.made {
		return 0, false
	}
	i := c.victim()
	if c.slots[i].due <= p {
		return 0, false
	}
	c.hold(i, u.tile)
	c.slots[i].due = p
	return c.slots[i].number, true
}

// victim returns the index of the slot whose tile is needed last, but not the slot of the last access.
func (c *cache) victim() int {
	best := -1
	for i, s := range c.slots {
		if i != c.last && (best < 0 || s.due > c.slots[best].due) {
			best = i
		}
	}
	return best
}

// hold records that a slot holds a tile.
func (c *cache) hold(i int, tile int32) {
	if old := c.slots[i].tile; old >= 0 {
		delete(c.where, old)
	}
	c.slots[i].tile = tile
	c.where[tile] = i
}
