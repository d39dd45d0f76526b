/** Finds the audiences whose shards a hash is in: a search among their bounds, however many they
 *  are.
 *
 *  ```
 *                  1 2 3 4 ... of hashes
 *              0 ┌─────┴─────┐ 1        a range is a few nodes, each of which covers a part of it
 *            ┌───┴───┐   ┌───┴───┐      whole; a hash meets all nodes on the way to its place
 *  ```
 *
 *  It is a binary tree over the first bits of hashes: equal shards of any number are a few nodes
 *  each. Below the last bit that is looked at, a bound is rounded outwards, so that no client's
 *  bounds make a tree of more than that: frames are filtered in any case. */

/** A range of hashes, by their high 32 bits: from the start up to the end, inclusive. */
export interface HighRange {
  readonly start: number
  readonly end: number
}

/** The number of bits that are looked at: 65,536 places, far more than one resource has
 *  watchers. */
const bits = 16
const hidden = 32 - bits

class PlaceNode<A> {
  zero: PlaceNode<A> | undefined = undefined
  one: PlaceNode<A> | undefined = undefined
  audiences: Set<A> | undefined = undefined

  get isEmpty(): boolean {
    return this.zero === undefined && this.one === undefined && this.audiences === undefined
  }
}

export class ShardPlaces<A> {
  #root: PlaceNode<A> | undefined = undefined

  get isEmpty(): boolean {
    return this.#root === undefined
  }

  add(audience: A, ranges: readonly HighRange[]): void {
    for (const range of ranges) this.#root = added(this.#root, audience, wholeFor(range))
  }

  delete(audience: A, ranges: readonly HighRange[]): void {
    for (const range of ranges) this.#root = removed(this.#root, audience, wholeFor(range))
  }

  /** Calls back for each audience with a range that the hash may be in; more than once for one with
   *  several. */
  each(high: number, take: (audience: A) => void): void {
    let node = this.#root
    for (let bit = 31; node !== undefined; bit--) {
      if (node.audiences !== undefined) for (const audience of node.audiences) take(audience)
      node = ((high >>> bit) & 1) === 0 ? node.zero : node.one
    }
  }

  /** Calls `take` with every audience, for an object whose hash is not known. */
  all(take: (audience: A) => void): void {
    const open = this.#root === undefined ? [] : [this.#root]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (node.audiences !== undefined) for (const audience of node.audiences) take(audience)
      if (node.zero !== undefined) open.push(node.zero)
      if (node.one !== undefined) open.push(node.one)
    }
  }
}

/** The hashes that are still to be covered, both ends included, and the part of a node. */
interface Part {
  readonly from: number
  readonly to: number
  readonly low: number
  readonly size: number
}

function wholeFor({ start, end }: HighRange): Part {
  return { from: start >>> hidden, to: end >>> hidden, low: 0, size: 2 ** bits }
}

function isOutside({ from, to, low, size }: Part): boolean {
  return to < low || from >= low + size
}

function isWhole({ from, to, low, size }: Part): boolean {
  return from <= low && to >= low + size - 1
}

function half(part: Part, which: 'zero' | 'one'): Part {
  const size = part.size / 2
  return { ...part, size, low: which === 'zero' ? part.low : part.low + size }
}

function added<A>(
  node: PlaceNode<A> | undefined,
  audience: A,
  part: Part,
): PlaceNode<A> | undefined {
  if (isOutside(part)) return node
  const place = node ?? new PlaceNode<A>()
  if (isWhole(part)) (place.audiences ??= new Set()).add(audience)
  else {
    place.zero = added(place.zero, audience, half(part, 'zero'))
    place.one = added(place.one, audience, half(part, 'one'))
  }
  return place
}

function removed<A>(
  node: PlaceNode<A> | undefined,
  audience: A,
  part: Part,
): PlaceNode<A> | undefined {
  if (node === undefined || isOutside(part)) return node
  if (isWhole(part)) {
    node.audiences?.delete(audience)
    if (node.audiences?.size === 0) node.audiences = undefined
  } else {
    node.zero = removed(node.zero, audience, half(part, 'zero'))
    node.one = removed(node.one, audience, half(part, 'one'))
  }
  return node.isEmpty ? undefined : node
}
