/** The budget of each suite, in seconds of the processors for its files together. What does not fit
 *  belongs into a soak: `EFFORT=10 npm test`, `npm run simulate`, `npm run soak`. */
export const suiteBudgets: Readonly<Record<string, number>> = {
  attacks: 95,
  base: 6,
  bench: 10,
  cache: 61,
  cel: 8,
  cli: 55,
  cluster: 8,
  codec: 22,
  contract: 4,
  deploy: 14,
  e2e: 75,
  etcd: 15,
  'etcd-server': 34,
  go: 5,
  golden: 44,
  kube: 12,
  kubeconfig: 12,
  proxy: 34,
  sim: 8,
  simulator: 18,
  source: 3,
  store: 12,
  support: 14,
  views: 12,
  workers: 14,
  writes: 16,
  /** Files that belong to no suite. */
  others: 8,
}

/** Seconds of wall time for all of them on a quiet machine with two cores. */
export const wholeBudget: number = 5 * 60 + 12
/** The same for `npm run test:quick`, whose suites are a part of these. */
export const quickBudget: number = 120
/** Seconds that they took in November 2026: who waits is told. */
export const wholeSeconds: number = 620
export const quickSeconds: number = 135
/** Suites that `npm run test:quick` leaves out: each takes long as a whole. */
export const notQuick: ReadonlySet<string> = new Set([
  'attacks',
  'bench',
  'cli',
  'deploy',
  'e2e',
  'etcd-server',
  'golden',
  'proxy',
  'sim',
  'support',
])

/** The suite of a built test file: the folder of test/ that it is in, which has the name of the
 *  package that it tests, if it tests one. */
export function suiteOf(file: string): string {
  const path = file.replace(/^dist\/test\//, '')
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : 'others'
}

/** The files that take longest, which begin first. */
export const slowest: readonly string[] = [
  'cache/mirror/real-etcd',
  'e2e/controller',
  'attacks/one-user',
  'e2e/run',
  'attacks/ended-from-outside',
  'e2e/sidecar',
  'attacks/etcd-watch-creates',
  'attacks/http2-frames',
  'attacks/work-before-known',
  'etcd-server/engine/differential',
  'etcd-server/replica-differential',
  'golden/replay',
  'golden/aggregated/replay',
  'proxy/evidence/evidence',
  'proxy/evidence/mixed',
  'simulator/fresh/stored-objects',
  'cli/compose/loaded-code',
  'e2e/ends',
  'golden/minors',
  'e2e/watches',
  'e2e/reads',
  'sim/sim',
  'store/model',
  'writes/model',
  'cache/http/server/malformed',
  'cache/http/auth/random',
].map(builtName)

/** Files that count what is compiled or kept in a process, or run their tests side by side, and so
 *  share it with none. */
export const ownProcess: readonly string[] = [
  'attacks/etcd-adversary',
  'cache/mirror/real-etcd',
  'codec/served/view',
  'codec/output/object-encoder',
  'workers/mirror/entries',
  'store/slab',
].map(builtName)

/** The reasons why files are not run each time, each with its files. */
const longByReason: Readonly<Record<string, readonly string[]>> = {
  'a bench takes as long as a suite in its small size, too': [
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
    'bench/nodes',
    'bench/proxy',
    'bench/resume',
    'bench/saturated',
    'bench/sizing',
    'bench/slow-watchers',
    'bench/source',
    'bench/store',
    'bench/threads',
    'bench/tiers',
    'bench/views',
    'bench/watch',
  ],
  'other programs walk through what is tested part by part elsewhere': [
    'e2e/kubectl-simulated',
    'e2e/starters',
    'e2e/walk',
    'golden/record/record',
    'proxy/evidence/recorded',
    'source/differential',
  ],
  'etcdctl is started 180 times, and its calls are compared with etcd in engine/differential': [
    'etcd-server/engine/etcdctl',
  ],
  'what is packed is installed by npm, and compiled against': [
    'deploy/installed',
    'deploy/libraries',
    'deploy/one-file',
  ],
  'a browser takes half a minute, and what the page asks for is tested without one': [
    'cache/http/page/browser',
    'cache/http/page/objects-browser',
  ],
}

/** The files that only `npm run test:long` runs. */
export const long: readonly string[] = Object.values(longByReason).flat().map(builtName)

function builtName(name: string): string {
  return `dist/test/${name}.test.js`
}
