/** Certificates for the upstream that change while requests run. */

import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { BalancedUpstream } from '../../../lib/proxy/upstream/balanced-upstream.ts'
import {
  defaultUpstreamTimeouts,
  UpstreamServer,
  type UpstreamTls,
} from '../../../lib/proxy/upstream/server.ts'
import type { UpstreamIdentity } from '../../../lib/cache/http/auth/upstream-calls.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { moment } from '../../support/http/moment.ts'

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
const pair = (name: string) => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) })
const ca = pem('ca.pem')

t.test('renewed certificates are shown from the next request on', async t => {
  const server = https.createServer(
    {
      ...pair('server'),
      ca: [ca, pem('proxies-ca.pem')],
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject ?? {}
      const end = (): void => void response.end(String(CN))
      if (request.url === '/slow') held.push(end)
      else end()
    },
  )
  const held: (() => void)[] = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const first: UpstreamTls = { ca, own: pair('client'), frontProxy: pair('client') }
  const timeouts = defaultUpstreamTimeouts
  let renew: (tls: UpstreamTls) => void = () => {}
  let isFollowing = true
  const upstream = new BalancedUpstream({
    servers: [new UpstreamServer({ url, tls: first, timeouts })],
    timeouts,
    clock: systemClock,
    logger: silentLogger,
    followTls(renewed) {
      renew = renewed
      return () => (isFollowing = false)
    },
  })
  upstream.followTls()
  const call = async (path = '/'): Promise<string> => {
    const { signal } = new AbortController()
    const { body } = await upstream.call({ method: 'GET', path, headers: {}, signal }, 'ourselves')
    return Buffer.from(body).toString()
  }
  const forward = (as: UpstreamIdentity, path = '/'): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = ''
      const request = { method: 'GET', path, headers: ['host', url.host], body: undefined }
      upstream.forward({ ...request, isLongRunning: false, as, isIdentified: true }, {
        started() {},
        data(piece: Uint8Array) {
          text += Buffer.from(piece).toString()
          return true
        },
        ended: () => resolve(text),
        failed: reject,
      } as never)
    })
  t.strictSame([await call(), await forward('front-proxy')], ['alice', 'alice'])
  const underWay = [call('/slow'), forward('front-proxy', '/slow')]
  while (held.length < 2) await moment()
  renew({ ca, own: pair('front-proxy'), frontProxy: pair('front-proxy') })
  t.strictSame([await call(), await forward('front-proxy')], ['front-proxy', 'front-proxy'])
  t.equal(await forward('caller'), 'undefined', 'a client is shown with no certificate of ours')
  for (const end of held) end()
  t.strictSame(
    await Promise.all(underWay),
    ['alice', 'alice'],
    'what was under way ends as it began',
  )
  while ((await connections(server)) > 3) await moment()
  t.pass('connections with old certificates are closed')
  await upstream.stop()
  t.notOk(isFollowing)
})

function connections(server: https.Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  )
}
