import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { HttpsCallerOptions } from '../../../lib/simulator/webhooks/https-caller.ts'
import { allKeys } from '../../../lib/base/keys.ts'
import { createAuthority } from '../../../lib/simulator/authority/authority.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { moment } from '../../support/http/moment.ts'
import {
  ask,
  caughtUp,
  type HttpAnswer,
  type Served,
  startServed,
} from '../../support/http/served.ts'

interface Webhooks {
  readonly port: number
  readonly ca: string
  /** The certificate of the webhooks themselves. */
  readonly own: string
  readonly asked: string[]
}

/** Answers by path: `/allow`, `/hang` and `/large`. */
async function startWebhooks(t: Test): Promise<Webhooks> {
  const authority = createAuthority(systemClock.wallMs())
  const asked: string[] = []
  const names = ['127.0.0.1', 'hook.tools.svc']
  const issued = authority.issue(names)
  const server = createServer(issued, (request, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '')
    asked.push(path)
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      if (path === '/hang') return
      const { apiVersion, request: review } = JSON.parse(Buffer.concat(pieces).toString()) as {
        apiVersion: string
        request: { uid: string }
      }
      const answer = { uid: review.uid, allowed: true, warnings: [`from ${path}`] }
      const body = JSON.stringify({ apiVersion, kind: 'AdmissionReview', response: answer })
      response.end(path === '/large' ? body + ' '.repeat(4 * 1024 * 1024) : body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const encoded = (pem: string | Buffer): string => Buffer.from(pem).toString('base64')
  return { port, ca: encoded(authority.cert), own: encoded(issued.cert), asked }
}

function send(served: Served, method: string, path: string, body: object): Promise<HttpAnswer> {
  return ask(served.service.port, {
    method,
    path,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
}

const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

async function hook(served: Served, resource: string, clientConfig: object): Promise<void> {
  const { status } = await send(served, 'POST', configurations, {
    metadata: { name: resource },
    webhooks: [
      {
        name: `${resource}.example.com`,
        clientConfig,
        rules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] },
        ],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 30,
      },
    ],
  })
  t.equal(status, 201)
  const { header } = await served.client.range({
    range: allKeys,
    countOnly: true,
  })
  await caughtUp(served, header.revision)
}

async function started(t: Test, webhooks: HttpsCallerOptions): Promise<Served> {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    webhooks,
  })
  await caughtUp(served, 1)
  return served
}

const secrets = '/api/v1/namespaces/default/secrets'
const configMaps = '/api/v1/namespaces/default/configmaps'

t.test('a webhook that hangs holds up its own write, and no other one', async t => {
  const { port, ca, asked } = await startWebhooks(t)
  const served = await started(t, { services: new Map(), hosts: undefined })
  await hook(served, 'secrets', { url: `https://127.0.0.1:${port}/hang`, caBundle: ca })
  await hook(served, 'configmaps', { url: `https://127.0.0.1:${port}/allow`, caBundle: ca })
  const client = new AbortController()
  const held = fetch(`http://127.0.0.1:${served.service.port}${secrets}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'held' } }),
    signal: client.signal,
  })
  while (!asked.includes('/hang')) await moment()
  const other = await send(served, 'POST', configMaps, { metadata: { name: 'a' } })
  t.equal(other.status, 201)
  t.equal(other.headers.warning, '299 - "from /allow"')
  client.abort()
  await t.rejects(held)
})

t.test('the own certificate of a webhook is trusted, as envtest gives it', async t => {
  const { port, own, asked } = await startWebhooks(t)
  const another = await startWebhooks(t)
  const served = await started(t, { services: new Map(), hosts: undefined })
  await hook(served, 'configmaps', { url: `https://127.0.0.1:${port}//x/../allow/`, caBundle: own })
  const taken = await send(served, 'POST', configMaps, { metadata: { name: 'a' } })
  t.equal(taken.status, 201, taken.body.toString())
  t.strictSame(asked, ['/allow'], 'and its path is joined')
  const url = `https://127.0.0.1:${port}/allow`
  await hook(served, 'secrets', { url, caBundle: another.own })
  const refused = await send(served, 'POST', secrets, { metadata: { name: 'a' } })
  t.equal(refused.status, 500)
  t.match(refused.body.toString(), 'certificate signed by unknown authority')
})

t.test('answers, hosts and certificates are bounded', async t => {
  const { port, ca, asked } = await startWebhooks(t)
  const at = `127.0.0.1:${port}`
  const served = await started(t, {
    services: new Map([['tools/hook', new URL(`https://${at}`)]]),
    hosts: new Set([at]),
  })
  await hook(served, 'secrets', { url: `https://${at}/large`, caBundle: ca })
  const large = await send(served, 'POST', secrets, { metadata: { name: 'a' } })
  t.match(large.body.toString(), /the answer is larger than 3145728 bytes/)
  t.equal(large.status, 500)
  await hook(served, 'configmaps', { url: 'https://localhost:1/allow', caBundle: ca })
  const elsewhere = await send(served, 'POST', configMaps, { metadata: { name: 'a' } })
  t.match(elsewhere.body.toString(), /localhost:1 is not named by --webhook-host/)
  await hook(served, 'services', {
    service: { namespace: 'tools', name: 'hook', path: '/service' },
    caBundle: ca,
  })
  const service = { metadata: { name: 'a' }, spec: { ports: [{ port: 1 }] } }
  t.equal((await send(served, 'POST', '/api/v1/namespaces/default/services', service)).status, 201)
  t.ok(asked.includes('/service'), 'the service is where the operator says')
  await hook(served, 'endpoints', { service: { namespace: 'tools', name: 'none' }, caBundle: ca })
  const unknown = await send(served, 'POST', '/api/v1/namespaces/default/endpoints', {
    metadata: { name: 'b' },
  })
  t.match(unknown.body.toString(), /no --webhook-service says where tools\/none is/)
  const caBundle = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n').toString('base64')
  await hook(served, 'limitranges', { url: `https://${at}/allow`, caBundle })
  const broken = await send(served, 'POST', '/api/v1/namespaces/default/limitranges', {
    metadata: { name: 'c' },
  })
  t.equal(broken.status, 500)
  t.match(broken.body.toString(), /failed calling webhook \\"limitranges.example.com\\"/)
})
