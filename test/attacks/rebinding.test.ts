/** Web pages reach no listener that believes whoever reaches it: neither by their origin nor by
 *  a name that they have made to mean this machine. */

import t from 'tap'
import { startDoor } from '../support/attacks/door.ts'
import { ask, askRaw, versions } from '../support/attacks/ask.ts'

const refused: readonly Readonly<Record<string, string>>[] = [
  { host: 'rebound.example.com' },
  { host: 'rebound.example.com:8001' },
  { host: '127.0.0.1.example.com' },
  { host: 'localhost.example.com' },
  { host: '127.0.0.1', origin: 'http://evil.example.com' },
  { host: '127.0.0.1', origin: 'null' },
  { host: 'localhost:1', origin: 'http://localhost:2' },
]
const answered: readonly Readonly<Record<string, string>>[] = [
  { host: '127.0.0.1' },
  { host: 'LOCALHOST:8001' },
  { host: '[::1]:8001' },
  { host: 'box.test' },
  { host: 'localhost:8001', origin: 'http://localhost:8001' },
]

t.test('neither the loopback listener nor the admin listener answers web pages', async t => {
  const door = await startDoor(t, {
    args: ['--auth=none', '--allowed-host=box.test'],
    isGuarded: false,
    probe: { headers: {}, certificate: undefined },
  })
  const main = { protocol: 'http', port: door.port } as const
  const own = { protocol: 'http', port: door.adminPort } as const
  for (const headers of refused) {
    const name = JSON.stringify(headers)
    const path = '/api/v1/secrets'
    t.equal((await ask(main, '1.1', { path, headers })).status, 403, name)
    const { host, ...rest } = headers
    const over2 = { ...rest, ':authority': host ?? '' }
    t.equal((await ask(main, '2', { path, headers: over2 })).status, 403, `HTTP/2 ${name}`)
    const change = { method: 'PUT', path: '/pass-through?state=on', headers }
    t.equal((await ask(own, '1.1', change)).status, 403, `admin ${name}`)
    t.equal((await ask(own, '1.1', { path: '/metrics', headers })).status, 403)
  }
  for (const headers of answered) {
    const name = JSON.stringify(headers)
    const { status } = await ask(main, '1.1', { path: '/api/v1/configmaps', headers })
    t.equal(status, 200, name)
  }
  for (const version of versions) {
    t.equal((await ask(main, version, { path: '/api/v1/configmaps' })).status, 200)
  }
  const old = await askRaw(own, 'GET /livez HTTP/1.0\r\n\r\n')
  t.match(old, / 200 /, 'a probe that has no name for us')
  t.match((await ask(own, '1.1', { path: '/pass-through' })).body, /false/, 'nothing was switched')
})

t.test('no web page changes settings of an admin listener on all addresses', async t => {
  const door = await startDoor(t, { args: ['--admin-listen=http://0.0.0.0:0'] })
  const own = { protocol: 'http', port: door.adminPort } as const
  for (const path of ['/pass-through?state=on', '/log-level?level=debug']) {
    for (const headers of refused) {
      const { status } = await ask(own, '1.1', { method: 'PUT', path, headers })
      t.equal(status, 403, `${path} ${JSON.stringify(headers)}`)
    }
  }
  t.match((await ask(own, '1.1', { path: '/pass-through' })).body, /false/, 'nothing was switched')
  const plain = { method: 'PUT', path: '/pass-through?state=off' }
  t.equal((await ask(own, '1.1', plain)).status, 200)
})
