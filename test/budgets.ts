/** How long each suite may take in CI, in seconds on a machine with two cores that has nothing else to do. Two files run at a time, and
 *  the whole must stay under 15 minutes. What does not fit belongs into a soak: `npm run simulate`, `npm run soak`. */
export const suiteBudgets: Readonly<Record<string, number>> = {
  base: 20,
  bench: 240,
  codec: 90,
  commands: 30,
  compose: 100,
  config: 10,
  contract: 60,
  e2e: 120,
  etcd: 180,
  generate: 20,
  go: 10,
  golden: 90,
  http: 240,
  kube: 40,
  mirror: 120,
  ops: 40,
  sim: 40,
  store: 120,
  support: 30,
  upkeep: 20,
  upstream: 40,
  watch: 60,
  wire: 10,
  /** Files that belong to no suite. */
  others: 40,
}

/** Seconds of wall time for all of them, with two files at a time. */
export const wholeBudget: number = 15 * 60
