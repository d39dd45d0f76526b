/** Before servers of 1.34 and 1.35 behind one address: what both write alike is answered from the
 *  mirror, and nothing else. The 1.34 answers with the bytes of a recorded kube-apiserver, where
 *  these were recorded. */

import t, { type Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import type { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { areEqualButForAges } from '../../../lib/proxy/evidence/ages.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { recordingOf } from '../../golden/load.ts'
import { HistoryWriter } from '../../golden/replay.ts'
import { ask, type HttpAnswer } from '../../support/http/served.ts'
import { startTcpProxy } from '../../support/http/tcp-proxy.ts'
import type { Before } from '../../support/upstream/answers.ts'
import { patient } from '../../support/patience.ts'
import { originOf, startFront } from '../../support/upstream/proxied.ts'
import { recordedBefore } from '../../support/upstream/recorded-answers.ts'
import { TestUpstream, upstreamReady } from '../../support/upstream/upstream.ts'

const recording = recordingOf('1.34')
/** At this revision every kind was asked for in every form. */
const { at_revision: revision } = recording.exchanges().find(({ area }) => area === 'kinds-list')!
/** The resources to read, fewer to save time: alike, alike but for some objects, and apart. */
const kinds = /\/(?:configmaps|leases|pods|deployments|serviceaccounts|resourceslices)\b/
const reads = recording
  .exchanges()
  .filter(({ area, at_revision: at }) => area.startsWith('kinds-') && at === revision)
  .map(({ request }) => ({
    path: request.path,
    accept: String(request.headers['Accept'] ?? '*/*'),
  }))
  .filter(({ path }) => kinds.test(path))
  .filter(({ accept }) => !accept.includes('yaml') && !accept.includes('v1beta1'))

interface Mixed {
  readonly service: KubeService
  readonly older: TestUpstream
  readonly newer: TestUpstream
  /** Behind the address: each connection leads to the next one. */
  readonly servers: TestUpstream[]
}

async function startMixed(t: Test): Promise<Mixed> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const network = new DirectNetwork(scheduler)
  const createClient = (): EngineClient => new EngineClient({ engine, network })
  await new HistoryWriter(createClient(), recording).writeUpTo(revision)
  const older = await TestUpstream.start({
    client: createClient(),
    service: { schema: schemaOf('1.34') },
    minor: '34',
    before: recordedBefore(recording, () => older.service.port),
  })
  const newer = await TestUpstream.start({
    client: createClient(),
    service: { schema: schemaOf('1.35') },
    minor: '35',
  })
  await Promise.all([upstreamReady(older), upstreamReady(newer)])
  const servers = [older]
  let turn = 0
  const proxy = await startTcpProxy(t, () => servers[turn++ % servers.length]?.url)
  const isKept = (prefix: string): boolean => kinds.test(prefix)
  const service = await startFront(createClient(), { url: proxy.endpoint }, { service: { isKept } })
  t.teardown(async () => {
    await service.stop()
    await older.stop()
    await newer.stop()
    engine.close()
  })
  return { service, older, newer, servers }
}

function versionsOf({ service }: Mixed): string {
  return service.knowledge!.versions.map(({ name }) => name).join(' ')
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(50)
}

function pause(ms: number): Promise<void> {
  return new Promise<void>(resolve => systemClock.setTimer(ms, resolve))
}

/** Waits until nothing more is compared. On a busy machine a comparison may take as long as one of
 *  these looks. */
async function settled({ service }: Mixed): Promise<void> {
  let before = -1
  for (let same = 0; same < 4;) {
    const { comparisons, forms } = service.evidence!.figures
    const now = Object.values(comparisons).reduce((sum, count) => sum + count, 0)
    same = now === before && forms.proven > 10 ? same + 1 : 0
    before = now
    await pause(patient(250))
  }
}

/** The number of times that a server was asked for comparisons of a resource. */
function comparisonsOf({ seen }: TestUpstream, resource: string): number {
  return seen.filter(({ url }) => url.includes(`${resource}?resourceVersion=`)).length
}

/** Answers about a resource with another name of a field. */
function lieAbout({ service }: TestUpstream, resource: string): Before {
  return async ({ url, headers }) => {
    if (!url.includes(`/${resource}`)) return undefined
    const accept = String(headers.accept)
    const answer = await ask(service.port, { path: url, headers: { accept } })
    const body = answer.body.toString('latin1').replaceAll('"data"', '"dota"')
    const type = String(answer.headers['content-type'])
    return {
      code: answer.status,
      headers: { 'content-type': type },
      body: Buffer.from(body, 'latin1'),
    }
  }
}

interface Replayed {
  readonly mirrored: number
  /** Passed reads, by reason: the last parts of paths. */
  readonly passed: ReadonlyMap<string, ReadonlySet<string>>
  readonly wrong: readonly string[]
}

/** Asks for every kind; what is answered here must be what each of the servers says. */
async function replayed({ service }: Mixed, servers: readonly TestUpstream[]): Promise<Replayed> {
  let mirrored = 0
  const passed = new Map<string, Set<string>>()
  const wrong: string[] = []
  for (const { path, accept } of reads) {
    const headers = { accept }
    const answer = await ask(service.port, { path, headers })
    const reason = /reason=(\S+)/.exec(originOf(answer))?.[1]
    if (reason !== undefined) {
      const what = path.replace(/\?.*/, '').split('/').at(-1)!
      passed.set(reason, (passed.get(reason) ?? new Set()).add(what))
      continue
    }
    mirrored++
    for (const server of servers) {
      const theirs = await ask(server.service.port, { path, headers })
      if (!areAlike(answer, theirs)) wrong.push(`${path} ${accept} ${server.service.port}`)
    }
  }
  return { mirrored, passed, wrong }
}

function areAlike(ours: HttpAnswer, theirs: HttpAnswer): boolean {
  return (
    ours.body.equals(theirs.body) ||
    areEqualButForAges(ours.body.toString(), theirs.body.toString(), 5)
  )
}

t.test('while a 1.35 joins and the 1.34 leaves, no answer differs from either', async t => {
  const mixed = await startMixed(t)
  const { service, older, newer, servers } = mixed
  await until(() => versionsOf(mixed) === 'v1.34.0')
  await settled(mixed)
  const alone = await replayed(mixed, [older])
  t.strictSame(alone.wrong, [])

  servers.push(newer)
  // It is asked every ten seconds, over a connection that may lead to the other one.
  while (versionsOf(mixed) === 'v1.34.0') {
    service.knowledge!.upstreamIsBack()
    await pause(100)
  }
  t.equal(versionsOf(mixed), 'v1.34.0 v1.35.0')
  await settled(mixed)
  const both = await replayed(mixed, servers)
  t.strictSame(both.wrong, [])
  t.comment(`${alone.mirrored} of ${reads.length} before, ${both.mirrored} with both`)
  t.ok(both.mirrored > alone.mirrored * 0.75, `${both.mirrored} of ${alone.mirrored}`)
  const differing = both.passed.get('versions-differ') ?? new Set()
  t.ok(differing.has('serviceaccounts'), 'the columns of ServiceAccounts differ')
  t.ok(differing.has('resourceslices'), 'ResourceSlices are stored in another version')
  t.notOk(differing.has('configmaps'))
  t.strictSame(service.evidence!.differences(), [], 'what differs was not even compared')

  // It writes ConfigMaps otherwise than its version does: the next comparison shows it.
  newer.before = lieAbout(newer, 'configmaps')
  const maps = '/api/v1/namespaces/default/configmaps'
  const metadata = {
    name: 'new',
    generateName: 'n',
    finalizers: ['a.example.com/b'],
    labels: { a: 'b' },
  }
  const more = { immutable: true, binaryData: { c: 'YQ==' }, data: { a: 'b' } }
  await older.create(maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...more })
  await until(() => service.evidence!.differences().length > 0)
  const lied = await ask(service.port, { path: maps })
  t.equal(originOf(lied), 'pass; reason=differs')
  newer.before = undefined

  const comparedBefore = comparisonsOf(newer, 'leases')
  servers.shift()
  older.cut()
  await until(() => versionsOf(mixed) === 'v1.35.0')
  await settled(mixed)
  const after = await replayed(mixed, [newer])
  t.strictSame(after.wrong, [])
  t.notOk(after.passed.has('versions-differ'))
  t.ok(after.mirrored >= alone.mirrored * 0.95, `${after.mirrored} of ${alone.mirrored}`)
  t.ok(comparedBefore > 0)
  t.equal(comparisonsOf(newer, 'leases'), comparedBefore, 'what is alike stays proven')
  t.strictSame(
    service.evidence!.differences().map(({ resource, form, at }) => [resource.resource, form, at]),
    [],
    'what was found to differ is compared again',
  )
  t.ok(comparisonsOf(newer, 'resourceslices') > 0, 'what was not is compared now')
})
