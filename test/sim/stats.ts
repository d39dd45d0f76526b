/** The counts of a simulation's happenings, by name. */

export class Stats {
  readonly counts: Map<string, number> = new Map()

  count(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by)
  }

  add(other: Stats): void {
    for (const [name, count] of other.counts) this.count(name, count)
  }

  of(name: string): number {
    return this.counts.get(name) ?? 0
  }

  /** The sum of all whose name begins so. */
  sum(prefix: string): number {
    let sum = 0
    for (const [name, count] of this.counts) if (name.startsWith(prefix)) sum += count
    return sum
  }
}
