// Of the refusals of one turn of the server's queue, one counts.
const SHRINK_PAUSE_MS = 50
// One batch of signatures.
const SMALLEST = 8

/**
 * How many calls a connection has in flight. It learns how many the server can take, as TCP does: it
 * shrinks by a quarter when the server refuses calls because of its load, and grows by one with each
 * window of answers. A refusal costs the server a part of an answer; a call that waits in the client
 * costs it nothing.
 */
export class InFlightWindow {
  #limit
  #size
  #shrunkAt = -Infinity

  constructor(limit) {
    this.#limit = limit
    this.#size = limit
  }

  get count() {
    return Math.floor(this.#size)
  }

  grow() {
    this.#size = Math.min(this.#limit, this.#size + 1 / this.#size)
  }

  shrink(now) {
    if (now - this.#shrunkAt < SHRINK_PAUSE_MS) return
    this.#shrunkAt = now
    this.#size = Math.min(this.#limit, Math.max(SMALLEST, this.#size * 0.75))
  }
}
