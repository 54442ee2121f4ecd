package engine

import "container/list"

// BlockSize is the number of tokens in one block of the KV cache.
const BlockSize = 16

// maxIdle bounds what an unbounded cache remembers: a million tokens.
const maxIdle = 1 << 16

// cache is a KV cache of blocks. Blocks of a known prefix are shared by all that hold them, and stay after their
// last holder has gone until their place is needed: the longest unused go first.
type cache struct {
	capacity int // blocks; 0 = no bound
	inUse    int // blocks that a sequence holds
	known    map[uint64]*block
	idle     *list.List // known blocks without a holder, longest unused first
}

// block is one block of a known prefix.
type block struct {
	hash    uint64
	holders int
	place   *list.Element // in idle
}

// holding is what one sequence holds: its known blocks from the start of the prompt, and how many others.
type holding struct {
	shared []*block
	own    int
}

func (h *holding) blocks() int { return len(h.shared) + h.own }

func newCache(capacity int) *cache {
	return &cache{capacity: capacity, known: map[uint64]*block{}, idle: list.New()}
}

// blocksOf returns how many blocks hold n tokens.
func blocksOf(n int) int { return (n + BlockSize - 1) / BlockSize }

// match adds the known blocks of a prompt to h and returns their tokens. At least one token of the prompt is never
// taken from the cache: something has to be computed to get the first output token.
func (c *cache) match(h *holding, hashes []uint64, prompt int) int {
	for i, hash := range hashes {
		b := c.known[hash]
		if b == nil || (i+1)*BlockSize >= prompt {
			break
		}
		c.hold(h, b)
	}
	return len(h.shared) * BlockSize
}

func (c *cache) hold(h *holding, b *block) {
	if b.holders == 0 {
		c.idle.Remove(b.place)
		c.inUse++
	}
	b.holders++
	h.shared = append(h.shared, b)
}

// take adds n fresh blocks to h, forgetting idle ones where needed, or returns false and changes nothing.
func (c *cache) take(h *holding, n int) bool {
	if c.capacity > 0 && c.inUse+n > c.capacity {
		return false
	}
	for c.capacity > 0 && c.inUse+c.idle.Len()+n > c.capacity {
		c.forget()
	}
	c.inUse += n
	h.own += n
	return true
}

// remember makes the blocks of h that hold the prompt known under their hashes. One that another sequence made
// known meanwhile is shared with it, which frees the own copy.
func (c *cache) remember(h *holding, hashes []uint64) {
	for i := len(h.shared); i < len(hashes) && h.own > 0; i++ {
		h.own--
		c.inUse--
		b := c.known[hashes[i]]
		if b == nil {
			b = &block{hash: hashes[i]}
			b.place = c.idle.PushBack(b)
			c.known[b.hash] = b
		}
		c.hold(h, b)
	}
}

// release gives back everything in h. The end of a prefix becomes idle first, since without its start it is useless.
func (c *cache) release(h *holding) {
	c.inUse -= h.own
	for i := len(h.shared) - 1; i >= 0; i-- {
		b := h.shared[i]
		if b.holders--; b.holders == 0 {
			c.inUse--
			b.place = c.idle.PushBack(b)
		}
	}
	for c.idle.Len() > maxIdle {
		c.forget()
	}
	*h = holding{}
}

// reset forgets all idle blocks.
func (c *cache) reset() {
	for c.idle.Len() > 0 {
		c.forget()
	}
}

// forget drops the block that has been idle longest.
func (c *cache) forget() {
	b := c.idle.Remove(c.idle.Front()).(*block)
	delete(c.known, b.hash)
}

// used returns the share of the cache that sequences hold.
func (c *cache) used() float64 {
	if c.capacity == 0 {
		return 0
	}
	return float64(c.inUse) / float64(c.capacity)
}
