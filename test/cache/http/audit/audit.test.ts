import * as http from 'node:http'
import t from 'tap'
import { delegatedTo, RulesServer } from '../../../support/http/rules-server.ts'
import { ask, startServed } from '../../../support/http/served.ts'
import { identity } from '../../../support/upstream/reviews.ts'
import { moment } from '../../../support/http/moment.ts'

interface Event {
  readonly stage: string
  readonly auditID: string
  readonly verb: string
  readonly user: { readonly username?: string }
  readonly responseStatus: { readonly code: number }
}

function collect(): { events: Event[]; audit: () => { write(line: string): void } } {
  const events: Event[] = []
  return { events, audit: () => ({ write: line => events.push(JSON.parse(line) as Event) }) }
}

async function recorded(events: readonly Event[], count: number): Promise<void> {
  while (events.length < count) await moment()
}

t.test('what is answered is recorded as kube-apiserver records it', async t => {
  const { events, audit } = collect()
  const rule = { verbs: ['list'], apiGroups: [''], resources: ['pods'] }
  const server = new RulesServer(new Map([['secret-token', identity('alice', 'dev')]]), [
    { subjects: ['alice'], namespace: '', rules: [rule] },
  ])
  const authorization = delegatedTo(server)
  const { service, clock } = await startServed(t, { audit, authorization })
  clock.stoppedAtMs = Date.parse('2026-01-02T03:04:05.678Z')
  const path = '/api/v1/namespaces/a/pods?labelSelector=app%3Dweb&limit=5'
  const headers = {
    authorization: 'Bearer secret-token',
    'user-agent': 'kubectl/v1',
    'x-forwarded-for': '10.0.0.1, nonsense',
  }
  const answer = await ask(service.port, { path, headers })
  await recorded(events, 1)
  t.match(events[0], {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: String(answer.headers['audit-id']),
    stage: 'ResponseComplete',
    requestURI: path,
    verb: 'list',
    user: { username: 'alice', uid: 'uid-alice', groups: ['dev', 'system:authenticated'] },
    sourceIPs: ['10.0.0.1', '127.0.0.1'],
    userAgent: 'kubectl/v1',
    objectRef: { resource: 'pods', namespace: 'a', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 200 },
    requestReceivedTimestamp: /^2026-01-02T03:04:0\d\.\d{6}Z$/,
    stageTimestamp: /^2026-01-02T03:04:0\d\.\d{6}Z$/,
    annotations: { 'authorization.k8s.io/decision': 'allow', 'watchglass/source': 'mirror' },
  })
  await ask(service.port, { path: '/api/v1/namespaces/a/pods/x', headers })
  await ask(service.port, { path: '/api/v1/pods' })
  await recorded(events, 3)
  t.match(events[1], {
    verb: 'get',
    user: { username: 'alice' },
    objectRef: { name: 'x' },
    responseStatus: { code: 403 },
    annotations: { 'authorization.k8s.io/decision': 'forbid', 'watchglass/source': 'refused' },
  })
  t.match(events[2], { user: {}, responseStatus: { code: 401 } })
  t.notMatch(JSON.stringify(events), 'secret-token')
})

t.test('a watch is recorded when it begins and when it ends', async t => {
  const { events, audit } = collect()
  const { service } = await startServed(t, { audit })
  const { port } = service
  const path = '/api/v1/pods?watch=1'
  const request = http.get({ port, path, agent: false })
  request.on('error', () => {})
  await recorded(events, 1)
  t.match(events[0], { verb: 'watch', stage: 'ResponseStarted', responseStatus: { code: 200 } })
  request.destroy()
  await recorded(events, 2)
  t.match(events[1], { stage: 'ResponseComplete', auditID: events[0]!.auditID })
  await ask(port, { path: '/api/v1/pods?watch=1&resourceVersion=x' })
  await recorded(events, 3)
  t.match(events[2], { stage: 'ResponseComplete', responseStatus: { code: 500 } })
  await ask(port, { path: '/livez' })
  await recorded(events, 4)
  t.match(events[3], { verb: 'get', user: { username: 'system:anonymous' } })
})
