package tiles

import (
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/internal/hostmem"
)

// arrangement says how a matrix is divided over the memories of some devices.
type arrangement struct {
	layout
	tileBytes int64
	// slots are the slots of each bank, of which cache are for copies; lanes are the lanes in use of each bank, and strips
	// the workers that have a row of tiles for predictions.
	slots                []int
	cache, lanes, strips int
	// hostTiles is the number of tiles at home on the host while cards compute. They, or the slots of a bank of the
	// host, are in a file if folder is not empty.
	hostTiles int
	// hostOwn is the number of these that belong to the matrix.
	hostOwn int
	folder  string
	needs   []device.Need
}

// smallestCache is the number of slots with which a card can compute: two operands, the result, and tiles to come.
const smallestCache = 6

// free is the memory that an arrangement may use: of the host, of each device, and of the folder for tiles.
type free struct {
	host    int64
	devices []int64
	folder  string
}

// freeMemory returns the free memory of the host and of devices. An unknown one is taken as large.
func freeMemory(devices []tiling.Device, folder string) free {
	known := func(bytes int64) int64 {
		if bytes <= 0 {
			return math.MaxInt64 / 4
		}
		return bytes
	}
	f := free{host: known(hostmem.Free()), folder: folder}
	for _, d := range devices {
		f.devices = append(f.devices, known(d.Info().MemoryFree))
	}
	return f
}

// arrange divides a matrix of n rows over devices. order is the order of a tile, 0 for the best one.
func arrange(n, d, order int, devices []tiling.Device, room free) arrangement {
	if devices[0].Info().Host {
		return onHost(n, d, order, devices[0], room)
	}
	orders := []int{order}
	if order == 0 {
		orders = cardOrders(n, len(devices))
	}
	var best arrangement
	for i, order := range orders {
		a := onCards(n, d, order, devices, room)
		better := a.fits(room) && (!best.fits(room) || a.hostOwn == 0 && best.hostOwn > 0)
		if i == 0 || better {
			best = a
		}
	}
	return best
}

// onHost keeps all tiles in the slots of one bank, where every thread computes in place.
func onHost(n, d, order int, dev tiling.Device, room free) arrangement {
	if order == 0 {
		order = hostOrder(n)
	}
	a := arrangement{layout: newLayout(n, order), lanes: max(1, dev.Info().Threads)}
	a.strips = max(1, min(a.lanes, a.side/10))
	tiles := a.tiles() + a.lanes + a.strips*a.side
	a.slots = []int{tiles}
	tile, rest := dev.TileSpace(n, d, order)
	a.tileBytes = tile
	what := fmt.Sprintf("%d tiles of order %d and working space", tiles, order)
	if bytes := int64(tiles)*tile + rest; bytes <= room.host || room.folder == "" {
		a.needs = []device.Need{{Bytes: bytes, What: what}}
		return a
	}
	a.folder = room.folder
	what = fmt.Sprintf("parts and working space of a file of %s in the folder of %s", device.FormatBytes(a.fileBytes()), Scratch)
	a.needs = []device.Need{{Bytes: rest + min(a.fileBytes()/8, fileCache), What: what}}
	return a
}

// fileCache is the most memory that a plan has for parts of a mapped file, an eighth of which should be there.
const fileCache = 1 << 30

// hostOrder returns the order of a tile for threads: small ones share the work evenly, large ones stay in the caches.
func hostOrder(n int) int {
	switch {
	case n <= 1500:
		return nearly(n, 144)
	case n <= 6000:
		return nearly(n, 192)
	}
	return nearly(n, 288)
}

// nearly returns the multiple of 24, which all groups of rows divide, that fills up the last tile best, near target.
func nearly(n, target int) int {
	const unit = 24
	if n <= target {
		return roundOrder(n)
	}
	best, least := target, math.MaxInt
	for order := target * 4 / 3 / unit * unit; order >= target*3/4; order -= unit {
		padded := (n + order - 1) / order * order
		if padded < least || padded == least && max(order, target)-min(order, target) < max(best, target)-min(best, target) {
			best, least = order, padded
		}
	}
	return best
}

// cardOrders returns orders of tiles for some cards, the best first. With 20 tiles a side, tiles on the diagonal cost little;
// several cards need more to share the work evenly. A card needs thousands of rows for its full rate, and for copies that take
// less time than the products.
func cardOrders(n, cards int) (orders []int) {
	const largest, least, smallest = 8192, 2048, 512
	for order := largest; order >= smallest; order /= 2 {
		enough := (n+order-1)/order >= max(20, 6*cards)
		if enough || order == smallest || order == least && n >= 20*least {
			orders = append(orders, even(n, order))
		}
		if order <= least && len(orders) > 0 {
			break
		}
	}
	return orders
}

// onCards keeps on cards the tiles that fit there, and the rest in the memory of the host.
func onCards(n, d, order int, devices []tiling.Device, room free) arrangement {
	a := arrangement{layout: newLayout(n, order), lanes: 1, strips: len(devices)}
	rests := make([]int64, len(devices))
	for i, dev := range devices {
		a.tileBytes, rests[i] = dev.TileSpace(n, d, order)
		a.slots = append(a.slots, max(smallestCache+1, int((room.devices[i]/100*97-rests[i])/a.tileBytes)))
	}
	if a.place(); len(devices) > 1 || a.hostTiles > 0 {
		a.cache = max(smallestCache, min(a.side+4, slices.Min(a.slots)/2))
	}
	_, used := a.place()
	for i, dev := range devices {
		a.slots[i] = used[i] + a.cache
		what := fmt.Sprintf("%d tiles of order %d and working space", a.slots[i], order)
		a.needs = append(a.needs, device.Need{Device: dev.Info().Name, Bytes: int64(a.slots[i])*a.tileBytes + rests[i], What: what})
	}
	bytes := int64(a.hostTiles) * a.tileBytes
	switch {
	case bytes > room.host && room.folder != "":
		a.folder = room.folder
	case bytes > 0:
		a.needs = append(a.needs, device.Need{Bytes: bytes, What: fmt.Sprintf("%d tiles of order %d that do not fit on the devices", a.hostTiles, order)})
	}
	return a
}

// place gives each tile a home, the rows of the matrix in turn to the banks, and counts the slots in use and the tiles of the
// host. A bank's first slots are for the results of its workers.
func (a *arrangement) place() (homes []home, used []int) {
	banks := len(a.slots)
	homes, used, a.hostTiles = make([]home, a.strip(a.strips, 0)), make([]int, banks), 0
	for bank := range used {
		used[bank] = a.lanes
	}
	put := func(tile, bank int) {
		if used[bank] < a.slots[bank]-a.cache {
			homes[tile] = home{bank, used[bank]}
			used[bank]++
			return
		}
		homes[tile] = home{host, a.hostTiles}
		a.hostTiles++
	}
	for j := range a.side {
		for i := j; i < a.side; i++ {
			put(a.tile(i, j), a.owner(i, banks))
		}
	}
	a.hostOwn = a.hostTiles
	for s := range a.strips {
		for j := range a.side {
			put(a.strip(s, j), s%banks)
		}
	}
	return homes, used
}

// fileBytes returns the size of the file of an arrangement with a folder: the tiles of the host, or all slots of its bank.
func (a arrangement) fileBytes() int64 {
	if a.cache > 0 {
		return int64(a.hostTiles) * a.tileBytes
	}
	return int64(a.slots[0]) * a.tileBytes
}

// fits reports whether the arrangement fits in memory.
func (a arrangement) fits(room free) bool {
	at := 0
	for _, n := range a.needs {
		limit := room.host
		if n.Device != "" {
			limit = room.devices[at]
			at++
		}
		if n.Bytes > limit {
			return false
		}
	}
	return true
}

// The bytes per second that a plan expects between the host and a card, and from a file.
const (
	linkRate = 25e9
	fileRate = 1e9
)

// copyTime returns an estimate of the seconds that copies from the host to cards take in a value with gradient. Products
// take side³/2 tiles that a card's cache has not kept, and the host's share of these must be copied.
func (a arrangement) copyTime() float64 {
	rate, share := linkRate*float64(len(a.slots)), float64(a.hostOwn)/float64(a.tiles())
	if a.folder != "" {
		rate = fileRate
		if a.cache == 0 { // the host computes in the file
			share = 1
		}
	}
	return share * a.copies() * float64(a.tileBytes) / rate
}

// copies returns the number of tiles that products of a value with gradient take from elsewhere if a worker keeps a row of
// tiles for the products with it: side³/6 in each of three passes.
func (a arrangement) copies() float64 { return float64(a.side) * float64(a.side) * float64(a.side) / 2 }
