/** Sorting in the exact order of Go's `sort.Sort` (1.20 and later), which etcd uses for sorted
 *  ranges.
 *
 *  That sort is not stable: entries that compare as equal come out in an order that follows from
 *  the algorithm alone. A client sees that order, with a limit it even sees other entries, so an
 *  engine that answers as etcd does has to take the same steps. The algorithm is pattern-defeating
 *  quicksort (Orson Peters): insertion sort up to 12 items, pivots by the median of three or of
 *  nine, heap sort when pivots keep being bad, and shortcuts for what is sorted, reversed or full
 *  of duplicates. */

/** True when `a` has to come before `b`. */
export type IsLess<T> = (a: T, b: T) => boolean

/** Sorts in place, as Go does. */
export function sortUnstably<T>(items: T[], isLess: IsLess<T>): void {
  if (items.length > 1) {
    new Sorter(items, isLess).quicksort(0, items.length, bitLength(items.length))
  }
}

const insertionMaxItems = 12
/** From this length on, a pivot is a median of medians, and nearly sorted items are worth
 *  mending. */
const longItems = 50
const mendMaxSteps = 5
/** As many exchanges as a pivot's choice makes when the items are in reverse order. */
const reversedSwaps = 12

class Sorter<T> {
  readonly #items: T[]
  readonly #isLess: IsLess<T>
  /** Exchanges that the choice of a pivot has made. */
  #pivotSwaps = 0

  constructor(items: T[], isLess: IsLess<T>) {
    this.#items = items
    this.#isLess = isLess
  }

  /** Sorts from `from` up to, not including, `to`; gives up on pivots after `badChoices` bad
   *  ones. */
  quicksort(from: number, to: number, badChoices: number): void {
    let isBalanced = true
    let isPartitioned = true
    while (to - from > insertionMaxItems) {
      if (badChoices === 0) {
        this.#heapSort(from, to)
        return
      }
      if (!isBalanced) {
        this.#breakPatterns(from, to)
        badChoices--
      }
      let pivot = this.#choosePivot(from, to)
      if (this.#pivotSwaps === reversedSwaps) {
        this.#reverse(from, to)
        pivot = to - 1 - (pivot - from)
        this.#pivotSwaps = 0
      }
      const looksSorted = isBalanced && isPartitioned && this.#pivotSwaps === 0
      if (looksSorted && this.#mend(from, to)) return
      if (from > 0 && !this.#less(from - 1, pivot)) {
        from = this.#partitionEqual(from, to, pivot)
        continue
      }
      const parted = this.#partition(from, to, pivot)
      isPartitioned = parted.wasPartitioned
      const left = parted.middle - from
      const right = to - parted.middle
      isBalanced = Math.min(left, right) >= Math.floor((to - from) / 8)
      if (left < right) {
        this.quicksort(from, parted.middle, badChoices)
        from = parted.middle + 1
      } else {
        this.quicksort(parted.middle + 1, to, badChoices)
        to = parted.middle
      }
    }
    this.#insertionSort(from, to)
  }

  #less(a: number, b: number): boolean {
    return this.#isLess(this.#items[a]!, this.#items[b]!)
  }

  #swap(a: number, b: number): void {
    const item = this.#items[a]!
    this.#items[a] = this.#items[b]!
    this.#items[b] = item
  }

  #insertionSort(from: number, to: number): void {
    for (let i = from + 1; i < to; i++) {
      for (let j = i; j > from && this.#less(j, j - 1); j--) this.#swap(j, j - 1)
    }
  }

  #heapSort(from: number, to: number): void {
    const length = to - from
    for (let root = Math.floor((length - 1) / 2); root >= 0; root--) this.#sift(from, root, length)
    for (let last = length - 1; last >= 0; last--) {
      this.#swap(from, from + last)
      this.#sift(from, 0, last)
    }
  }

  #sift(from: number, start: number, length: number): void {
    let root = start
    for (let child = 2 * root + 1; child < length; child = 2 * root + 1) {
      if (child + 1 < length && this.#less(from + child, from + child + 1)) child++
      if (!this.#less(from + root, from + child)) return
      this.#swap(from + root, from + child)
      root = child
    }
  }

  #reverse(from: number, to: number): void {
    for (let i = from, j = to - 1; i < j; i++, j--) this.#swap(i, j)
  }

  /** Puts what is below the pivot before it, and says where the pivot is then. */
  #partition(from: number, to: number, pivot: number) {
    this.#swap(from, pivot)
    let i = from + 1
    let j = to - 1
    let wasPartitioned = true
    for (;;) {
      while (i <= j && this.#less(i, from)) i++
      while (i <= j && !this.#less(j, from)) j--
      if (i > j) break
      this.#swap(i++, j--)
      wasPartitioned = false
    }
    this.#swap(j, from)
    return { middle: j, wasPartitioned }
  }

  /** Puts what equals the pivot, below which nothing is, first, and says where the rest begins. */
  #partitionEqual(from: number, to: number, pivot: number): number {
    this.#swap(from, pivot)
    let i = from + 1
    let j = to - 1
    for (;;) {
      while (i <= j && !this.#less(from, i)) i++
      while (i <= j && this.#less(from, j)) j--
      if (i > j) return i
      this.#swap(i++, j--)
    }
  }

  /** Sorts what is nearly sorted, in a few steps; false when those were not enough. */
  #mend(from: number, to: number): boolean {
    let i = from + 1
    for (let step = 0; step < mendMaxSteps; step++) {
      while (i < to && !this.#less(i, i - 1)) i++
      if (i === to) return true
      if (to - from < longItems) return false
      this.#swap(i, i - 1)
      if (i - from >= 2) {
        for (let j = i - 1; j >= 1 && this.#less(j, j - 1); j--) this.#swap(j, j - 1)
      }
      if (to - i >= 2) {
        for (let j = i + 1; j < to && this.#less(j, j - 1); j++) this.#swap(j, j - 1)
      }
    }
    return false
  }

  /** Scatters three items, so that a pattern which makes for bad pivots is gone. */
  #breakPatterns(from: number, to: number): void {
    const length = to - from
    const mask = BigInt(2 ** bitLength(length) - 1)
    const middle = from + Math.floor(length / 4) * 2 - 1
    let state = BigInt(length)
    for (let i = 0; i < 3; i++) {
      state = BigInt.asUintN(64, state ^ (state << 13n))
      state ^= state >> 7n
      state = BigInt.asUintN(64, state ^ (state << 17n))
      const other = Number(state & mask)
      this.#swap(middle + i, from + (other >= length ? other - length : other))
    }
  }

  /** The index of a pivot; `#pivotSwaps` then says how the items looked on the way: 0 is sorted, 12
   *  is reversed. */
  #choosePivot(from: number, to: number): number {
    const length = to - from
    const quarter = Math.floor(length / 4)
    this.#pivotSwaps = 0
    let [first, second, third] = [from + quarter, from + quarter * 2, from + quarter * 3]
    if (length >= longItems) {
      first = this.#median(first - 1, first, first + 1)
      second = this.#median(second - 1, second, second + 1)
      third = this.#median(third - 1, third, third + 1)
    }
    return this.#median(first, second, third)
  }

  #median(a: number, b: number, c: number): number {
    const [low, high] = this.#ordered(a, b)
    const [middle] = this.#ordered(high, c)
    return this.#ordered(low, middle)[1]
  }

  #ordered(a: number, b: number): [number, number] {
    if (!this.#less(b, a)) return [a, b]
    this.#pivotSwaps++
    return [b, a]
  }
}

/** The number of bits that it takes to write `value`. */
function bitLength(value: number): number {
  return 32 - Math.clz32(value)
}
