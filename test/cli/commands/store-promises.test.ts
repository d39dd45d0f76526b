/** Promises of etcd, tried on the embedded engine, which keeps them, and on stores that do not:
 *  each lie is told by the promise that it breaks. */

import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { CheckList } from '../../../lib/cli/commands/check/check-list.ts'
import { storePromises } from '../../../lib/cli/commands/check/promises/store-promises.ts'
import { TriedStore } from '../../../lib/cli/commands/check/promises/tried-store.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type {
  Client,
  RangeRequest,
  TxnRequest,
  WatchRequest,
  WatchSink,
} from '../../../lib/etcd/client.ts'
import { patient } from '../../support/patience.ts'
import { createTestEngine } from '../../support/etcd/test-engine.ts'

const { client: engine } = createTestEngine(t)

/** Keys that are there before. */
const mirrored = prefixRange(keyFromText('/there/'))

t.before(async () => {
  for (const name of ['a', 'b']) {
    const put = {
      type: 'put',
      key: keyFromText(`/there/${name}`),
      value: Buffer.from('1'),
    } as const
    await engine.txn({ compares: [], success: [put], failure: [] })
  }
})

/** The promises that a store does not keep, with the reason. */
async function brokenBy(
  lies: Partial<Client>,
  stepMaxMs = Math.ceil(patient(10_000)),
): Promise<Record<string, string>> {
  const client = lying(lies)
  const folder = `/tried-${Math.random()}/`
  const { signal } = new AbortController()
  const store = new TriedStore({ clients: [client], folder, mirrored, stepMaxMs, signal })
  const found: Record<string, string> = {}
  const list = new CheckList(line => {
    const [, verdict, name = '', text = ''] = /^(\w+) +([^:]+): (.*)$/.exec(line) ?? []
    if (verdict !== 'ok') found[name] = text
  })
  for (const { name, otherwise, attempt } of storePromises) {
    await list.tryPromise(name, otherwise, () => attempt(store))
  }
  await store.clear()
  const { count } = await engine.range({ range: store.range, countOnly: true })
  t.equal(count, 0, 'nothing is left behind')
  return found
}

/** The engine's client, but for these calls. */
function lying(lies: Partial<Client>): Client {
  return new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(lies, name) ?? Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as unknown as Client
}

/** A watch whose sink is changed on the way. */
function withSink(change: (sink: WatchSink) => WatchSink): Partial<Client> {
  return { watch: (request: WatchRequest, sink: WatchSink) => engine.watch(request, change(sink)) }
}

t.test('the embedded engine keeps all promises', async t => {
  t.strictSame(await brokenBy({}), {})
})

t.test('a lost event, a repeated one and a torn transaction are found', async t => {
  let events = 0
  const lost = withSink(sink => ({
    ...bound(sink),
    changed: (batches, header) => {
      if (events++ !== 5) sink.changed(batches, header)
    },
  }))
  t.ok(Object.keys(await brokenBy(lost, 300)).includes('events in order, once each'))
  const twice = withSink(sink => ({
    ...bound(sink),
    changed: (batches, header) => sink.changed([...batches, ...batches], header),
  }))
  t.match(await brokenBy(twice), {
    'events in order, once each': /^not kept \(written were .*, told .*\): a mirror starts again/,
  })
  const torn = withSink(sink => ({
    ...bound(sink),
    changed: (batches, header) => {
      const one = batches.flatMap(({ revision, changes }) =>
        changes.map(change => ({ revision, changes: [change] })),
      )
      sink.changed(one, header)
    },
  }))
  t.match(await brokenBy(torn), { 'a transaction is one revision': /seen one by one$/ })
})

t.test('progress before its events is found', async t => {
  const early = withSink(sink => ({
    ...bound(sink),
    changed: (batches, header) => {
      sink.progress(header)
      sink.changed(batches, header)
    },
  }))
  t.match(await brokenBy(early), {
    'progress after events': /progress \d+ came before the event of revision \d+/,
  })
})

t.test('old reads, wrong counts and answers from the future are found', async t => {
  const put = { type: 'put', key: keyFromText('a'), value: Buffer.from('1') } as const
  const first = await engine.txn({ compares: [], success: [put], failure: [] })
  const stale = await brokenBy({
    range: async (request: RangeRequest) => {
      const answer = await engine.range(request)
      return request.countOnly === true ? { ...answer, header: first.header, count: 0 } : answer
    },
  })
  t.match(stale, {
    'linearizable reads': /revision \d+ was read after \d+ was written/,
    'counts beside a limit': /beside a limit, 0 without one/,
  })
  const obliging = await brokenBy({
    range: ({ revision: _revision, ...request }: RangeRequest) => engine.range(request),
  })
  t.match(obliging, { 'reads at a revision': /a revision in the future was answered/ })
})

t.test('what a store does not have is said with what follows', async t => {
  const none = async (): Promise<never> => {
    throw new CacheError('unsupported', 'leases are not supported')
  }
  const found = await brokenBy({ grantLease: none })
  t.strictSame(found, {
    leases: 'not kept (leases are not supported): Events never end',
    'leases that are kept alive':
      'not kept (leases are not supported): --simulate cannot agree on a leader',
  })
})

t.test('a store that only knows the writes of kube-apiserver is tried and left clean', async t => {
  const refused = new CacheError('source_failed', 'unsupported operations in txn request')
  const found = await brokenBy({
    txn: async (request: TxnRequest) => {
      const [{ target } = { target: 'none' }] = request.compares
      const isConditional = request.compares.length === 1 && target === 'modRevision'
      if (!isConditional || request.success.length > 1) throw refused
      const [operation] = request.success
      const isRange = operation?.type === 'delete' && operation.range.end !== undefined
      if (isRange) throw refused
      return engine.txn(request)
    },
    keepLeaseAlive: () => Promise.reject(refused),
    revokeLease: async id => {
      await engine.revokeLease(id)
      throw refused
    },
    watch: (request: WatchRequest, sink: WatchSink) => {
      // Who names no revision is told everything again.
      return engine.watch({ startRevision: 1 as Revision, ...request }, sink)
    },
  })
  t.strictSame(Object.keys(found), ['a transaction is one revision', 'leases that are kept alive'])
})

function bound(sink: WatchSink): WatchSink {
  return {
    created: header => sink.created(header),
    changed: (batches, header) => sink.changed(batches, header),
    progress: header => sink.progress(header),
    ended: failure => sink.ended(failure),
  }
}
