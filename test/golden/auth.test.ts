import t from 'tap'
import type { Identity } from '../../lib/kube/access-review.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { delegatedTo, RulesServer } from '../support/http/rules-server.ts'
import { caughtUp, type Served, startServed } from '../support/http/served.ts'
import { createGuard } from '../support/upstream/guard.ts'
import { startProxied } from '../support/upstream/proxied.ts'
import { type Binding, bindingsFromEtcd } from '../support/upstream/rules.ts'
import { exchanges } from './load.ts'
import { HistoryWriter, replayExchange } from './replay.ts'

/** The users who were recorded: see the recordings' meta.json. */
const recordedUsers: ReadonlyMap<string, Identity> = new Map([
  ['golden-admin-token', user('admin', 'admin-uid', 'system:masters')],
  ['golden-alice-token', user('alice', 'u-alice', 'dev')],
  ['golden-bob-token', user('bob', 'u-bob')],
])

function user(name: string, uid: string, ...groups: string[]): Identity {
  return { user: name, uid, groups: [...groups, 'system:authenticated'], extra: {} }
}

/** The answers that no upstream of ours gives, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-1247': 'the server that was recorded was built without its version',
}

t.test('refusals are byte for byte those that were recorded', async t => {
  const recorded = exchanges().filter(({ area }) => area === 'auth')
  const server = new RulesServer(recordedUsers, [])
  const authorization = delegatedTo(server)
  const served = await startServed(t, { authorization })
  const writer = new HistoryWriter(served.client)
  let compared = 0
  for (const exchange of recorded) {
    const { id, user: who, request, at_revision: revision, response } = exchange
    if (who === 'anonymous' || 'Impersonate-User' in request.headers) continue
    await writer.writeUpTo(revision)
    server.bindings = await bindingsFromEtcd(served.client)
    const difference = await replayExchange(served, exchange)
    t.equal(difference, undefined, `${id} ${response.status} ${who} ${request.path}`)
    compared++
  }
  t.equal(compared, 38)
})

t.test('with an upstream every answer is byte for byte the recorded one', async t => {
  let bindings: Binding[] = []
  const clock: Served['clock'] = {
    ...systemClock,
    stoppedAtMs: undefined,
    wallMs: () => clock.stoppedAtMs ?? systemClock.wallMs(),
  }
  const proxied = await startProxied(t, {
    access: { mode: 'delegate' },
    token: async () => 'golden-admin-token',
    service: { clock, isKept: undefined },
    upstream: { service: { clock } },
  })
  const { upstream, client, service } = proxied
  upstream.before = createGuard({ users: recordedUsers, bindings: () => bindings })
  const writer = new HistoryWriter(client)
  for (const exchange of exchanges().filter(({ area }) => area === 'auth')) {
    const { id, user: who, request, at_revision: revision, response } = exchange
    await writer.writeUpTo(revision)
    bindings = await bindingsFromEtcd(client)
    await caughtUp({ client, clock, service: upstream.service }, revision)
    const difference = await replayExchange({ client, service, clock }, exchange)
    if (exceptions[id] !== undefined) t.comment(`${id}: ${exceptions[id]}`)
    else t.equal(difference, undefined, `${id} ${response.status} ${who} ${request.path}`)
  }
})
