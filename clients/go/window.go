package assay

import "time"

const (
	// shrinkPause: of the refusals of one turn of the server's queue, one counts.
	shrinkPause = 50 * time.Millisecond
	// smallestWindow is one batch of signatures.
	smallestWindow = 8
)

// window is how many calls a connection has in flight. It learns how many the server can take, as
// TCP does: it shrinks by a quarter when the server refuses calls because of its load, and grows by
// one with each window of answers. A refusal costs the server a part of an answer; a call that waits
// in the client costs it nothing.
type window struct {
	limit, size float64
	shrunkAt    time.Time
}

func newWindow(limit int) window { return window{limit: float64(limit), size: float64(limit)} }

func (w *window) count() int { return int(w.size) }

func (w *window) grow() {
	if w.size += 1 / w.size; w.size > w.limit {
		w.size = w.limit
	}
}

func (w *window) shrink(now time.Time) {
	if now.Sub(w.shrunkAt) < shrinkPause {
		return
	}
	w.shrunkAt = now
	if w.size *= 0.75; w.size < smallestWindow {
		w.size = smallestWindow
	}
	if w.size > w.limit {
		w.size = w.limit
	}
}
