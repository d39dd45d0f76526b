/** Many strangers over many idle clusters wake none: whoever is not known is refused before
 *  anything is started, and only whom a cluster knows starts it. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import {
  startFleet,
  type StartedFleet,
  startSharedEtcd,
  temporaryFolder,
  write,
} from '../support/fleet/started-fleet.ts'
import { ask, type HttpAnswer } from '../support/http/served.ts'
import { freePort } from '../support/program/ports.ts'

/** More than may be looked at the same time. */
const ownCount = 70
const delegatingCount = 10
const maps = '/api/v1/namespaces/default/configmaps'

interface Upstream {
  readonly port: number
  /** The tokens of the reviews that it was asked for. */
  readonly reviewed: string[]
}

/** An API server that knows one token, and nothing else. */
async function startUpstream(t: Test): Promise<Upstream> {
  const reviewed: string[] = []
  const server = createServer((request, response) => {
    const token = request.headers.authorization ?? ''
    const isReview = request.url?.endsWith('/selfsubjectaccessreviews') === true
    if (isReview) reviewed.push(token)
    request.resume()
    const status = token === 'Bearer good' ? (isReview ? 201 : 404) : 401
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end('{"status":{"allowed":true}}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, reviewed }
}

const forged = ['{"alg":"ES256","kid":"x"}', '{"iss":"https://kubernetes.default.svc"}', 'signed']
  .map(part => Buffer.from(part).toString('base64url'))
  .join('.')

/** Credentials of strangers. */
const strangers: readonly Readonly<Record<string, string>>[] = [
  {},
  { Authorization: 'Bearer wrong' },
  { Authorization: `Bearer ${forged}` },
  { Authorization: 'Basic YTpi' },
  { Authorization: 'Bearer ' },
  { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' },
  { Authorization: 'Bearer wrong', 'Impersonate-User': 'admin' },
]

const ownNames = Array.from({ length: ownCount }, (_, i) => `own-${i}`)
const delegatingNames = Array.from({ length: delegatingCount }, (_, i) => `of-upstream-${i}`)

async function start(t: Test, upstream: Upstream): Promise<StartedFleet> {
  const folder = temporaryFolder(t)
  const { endpoint } = await startSharedEtcd(t, await freePort())
  write(folder, 'tokens.csv', 'known,ann,uid,"system:masters"\n')
  const own = ownNames.map(
    name => `- {name: ${name}, auth: rbac, writable: true, token-auth-file: tokens.csv}\n`,
  )
  const delegating = delegatingNames.map(
    name => `- {name: ${name}, upstream: 'http://127.0.0.1:${upstream.port}'}\n`,
  )
  write(folder, 'clusters.yaml', `clusters:\n${[...own, ...delegating].join('')}`)
  return startFleet(t, folder, {
    clusters: 'clusters.yaml',
    args: ['--etcd', endpoint, '--prefix', '/{cluster}'],
  })
}

t.test('strangers wake no cluster', async t => {
  const upstream = await startUpstream(t)
  const fleet = await start(t, upstream)
  const names = [...ownNames, ...delegatingNames]
  const asked = (path: string, headers: Readonly<Record<string, string>>): Promise<HttpAnswer> =>
    ask(fleet.port, { path, headers })
  const refused = async (
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const { status, body } = await asked(path, headers)
    // So many at once that some are told to come again.
    if (status === 429) return
    if (status === 401 && body.includes('"reason":"Unauthorized"')) return
    t.fail(`${path} with ${JSON.stringify(headers)} is answered with ${status}`)
  }
  for (let round = 0; round < 2; round++) {
    for (const headers of strangers) {
      await Promise.all(names.map(name => refused(`/clusters/${name}${maps}`, headers)))
    }
  }
  for (const name of [ownNames[0], delegatingNames[0]]) {
    const { status, body } = await asked(`/clusters/${name}/readyz`, {})
    t.equal(status, 200, 'probes have no credentials, and wake none either')
    t.equal(body.toString(), 'ok')
    await refused(`/clusters/${name}/readyz`, { Authorization: 'Bearer wrong' })
    const views = await asked(
      `/views/clusters/${name}${maps.replace('/namespaces/default', '')}`,
      {},
    )
    t.match(JSON.parse(views.body.toString()), { unanswered: [{ name, code: 401 }] })
  }
  const { clusters } = fleet.fleet
  t.strictSame(
    clusters.filter(({ facts }) => facts.state !== 'idle' || facts.starts > 0),
    [],
    'all are idle',
  )
  t.ok(
    upstream.reviewed.length <= delegatingCount * 2 * 3,
    `each token is asked about once for each cluster: ${upstream.reviewed.length}`,
  )
  t.notOk(upstream.reviewed.includes('Bearer good'))

  const known = { Authorization: 'Bearer known' }
  t.equal((await asked(`/clusters/own-3${maps}`, known)).status, 200)
  await asked(`/clusters/of-upstream-3${maps}`, { Authorization: 'Bearer good' })
  const awake = (): string[] =>
    clusters.flatMap(({ name, state }) => (state === 'idle' ? [] : name))
  t.strictSame(awake(), ['of-upstream-3', 'own-3'], 'whom they know wakes them')
  t.equal((await asked(`/clusters/own-3${maps}`, {})).status, 403, 'awake it has its own rules')
})

t.test('a token of a service account wakes its cluster, by its signature', async t => {
  const fleet = await start(t, await startUpstream(t))
  const account = '/api/v1/namespaces/default/serviceaccounts/default'
  const post = (path: string, body: object): Promise<HttpAnswer> =>
    ask(fleet.port, {
      path: `/clusters/own-1${path}`,
      method: 'POST',
      headers: { Authorization: 'Bearer known', 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  await post('/api/v1/namespaces', { metadata: { name: 'default' } })
  await post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  const { body } = await post(`${account}/token`, { spec: { audiences: [] } })
  const { status } = JSON.parse(body.toString()) as { status: { token: string } }
  const cluster = fleet.fleet.find('own-1')
  await cluster?.sleep()
  t.equal(cluster?.state, 'idle')
  const headers = { Authorization: `Bearer ${status.token}` }
  const answer = await ask(fleet.port, { path: `/clusters/own-1${maps}`, headers })
  t.equal(answer.status, 403, 'the account may read nothing')
  t.equal(cluster?.state, 'awake')
  const other = await ask(fleet.port, { path: `/clusters/own-2${maps}`, headers })
  t.ok([401, 403].includes(other.status))
})
