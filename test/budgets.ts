/** The budget of each suite, in seconds of the processors for its files together. What does not fit
 *  belongs into a soak: `EFFORT=10 npm test`, `npm run simulate`, `npm run soak`. */
export const suiteBudgets: Readonly<Record<string, number>> = {
  attacks: 95,
  base: 4,
  bench: 10,
  cluster: 45,
  codec: 22,
  commands: 20,
  compose: 32,
  config: 3,
  contract: 4,
  deploy: 14,
  door: 34,
  e2e: 75,
  etcd: 15,
  front: 34,
  go: 2,
  golden: 44,
  http: 36,
  kube: 12,
  mirror: 18,
  ops: 4,
  sim: 8,
  store: 8,
  support: 14,
  threads: 14,
  upkeep: 3,
  watch: 4,
  wire: 2,
  /** Files that belong to no suite. */
  others: 8,
}

/** Seconds of wall time for all of them on a quiet machine with two cores. */
export const wholeBudget: number = 5 * 60
/** The same for `npm run test:quick`, whose suites are a part of these. */
export const quickBudget: number = 60

/** The suite of a built test file: the room of lib/ that it tests, or the folder of test/ that it
 *  is in. */
export function suiteOf(file: string): string {
  const path = file.replace(/^dist\/test\/(?:lib\/)?/, '')
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : 'others'
}

/** The files that take longest, which begin first. */
export const slowest: readonly string[] = [
  'lib/mirror/real-etcd',
  'e2e/controller',
  'attacks/one-user',
  'e2e/run',
  'attacks/ended-from-outside',
  'e2e/sidecar',
  'attacks/etcd-watch-creates',
  'attacks/http2-frames',
  'attacks/work-before-known',
  'lib/door/engine/differential',
  'lib/door/door-differential',
  'golden/replay',
  'golden/aggregated/replay',
  'lib/front/evidence/evidence',
  'lib/front/evidence/mixed',
  'lib/cluster/fresh/stored-objects',
  'lib/compose/wings',
  'e2e/ends',
  'bench/store',
  'golden/minors',
  'e2e/watches',
  'e2e/reads',
  'sim/sim',
  'lib/store/model',
  'lib/cluster/write/model',
  'lib/http/server/malformed',
  'lib/http/auth/random',
].map(builtName)

/** Files that count what is compiled or kept in a process, or run their tests side by side, and so
 *  share it with none. */
export const ownProcess: readonly string[] = [
  'attacks/etcd-adversary',
  'lib/mirror/real-etcd',
  'lib/codec/served/view',
  'lib/codec/output/object-encoder',
  'lib/threads/mirror/entries',
  'lib/store/slab',
].map(builtName)

/** Files that are run by `npm run test:long` only: benches, which take as long as a suite in their
 *  small size, too, and walks with other programs whose parts are tested elsewhere. */
export const long: readonly string[] = [
  'bench/actors',
  'bench/attacks',
  'bench/auth',
  'bench/cold',
  'bench/etcd-face',
  'bench/evidence',
  'bench/fleet',
  'bench/http',
  'bench/ingest',
  'bench/list',
  'bench/million',
  'bench/mirror',
  'bench/proxy',
  'bench/sizing',
  'bench/slow-watchers',
  'bench/threads',
  'bench/watch',
  'deploy/installed',
  'deploy/one-file',
  'e2e/kubectl-simulated',
  'e2e/starters',
  'e2e/walk',
  'golden/record/record',
  'lib/front/evidence/recorded',
  'lib/http/page/browser',
].map(builtName)

function builtName(name: string): string {
  return `dist/test/${name}.test.js`
}
