/** Nobody is believed to be somebody else by a header, under whatever name the upstream believes
 *  one. */

import t from 'tap'
import { admin, startDoor } from '../support/attacks/door.ts'
import { ask, askRaw, versions } from '../support/attacks/ask.ts'

const names = [
  'Remote-User',
  'remote_user',
  'X-Who',
  'Remote-Groups',
  'REMOTE_GROUPS',
  'Remote-Uid',
  'Remote-More-Scopes',
  'remote_more_a',
  'X-Remote-User',
  'x_remote_group',
  'X-Remote-Extra-A',
]
const args = [
  '--requestheader-username-headers=Remote-User,X-Who',
  '--requestheader-group-headers=Remote-Groups',
  '--requestheader-uid-headers=Remote-Uid',
  '--requestheader-extra-headers-prefix=Remote-More-',
]
const certs = 'test/support/certs'

t.test('no header of a client names anybody to the upstream', async t => {
  for (const [protocol, auth] of [
    ['http', 'none'],
    ['https', 'delegate'],
  ] as const) {
    const door = await startDoor(t, {
      protocol,
      args: [`--auth=${auth}`, ...args],
      isGuarded: false,
      probe: 'none',
    })
    for (const version of versions) {
      for (const name of names) {
        const headers = { ...admin, [name]: 'system:admin' }
        await ask(door, version, { path: '/echo', headers })
        const seen = door.upstream.last('/echo')!
        const found = Object.values(seen.headers).flat().includes('system:admin')
        t.notOk(found, `${protocol} ${auth} HTTP/${version}: ${name}`)
      }
    }
    const trailers = names.map(name => `${name}: system:admin\r\n`).join('')
    const head = 'POST /echo?trailers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
    const body = `Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${trailers}\r\n`
    t.notMatch(await askRaw(door, head + body), /system:admin/, 'neither as a trailer')
  }
})

t.test('whom we know is named under the names that the upstream believes', async t => {
  const door = await startDoor(t, {
    protocol: 'https',
    isUpstreamSecure: true,
    isGuarded: false,
    probe: 'none',
    args: [
      '--auth=delegate',
      `--client-ca=${certs}/ca.pem`,
      '--pass-identity=headers',
      `--front-proxy-cert=${certs}/front-proxy.pem`,
      `--front-proxy-key=${certs}/front-proxy.key`,
      ...args,
    ],
  })
  const address = { ...door, certificate: 'client' }
  const headers = { 'remote-user': 'system:admin', 'x-remote-user': 'system:admin' }
  await ask(address, '1.1', { path: '/echo', headers })
  const seen = door.upstream.last('/echo')!
  t.equal(seen.headers['remote-user'], 'alice')
  t.match(seen.headers['remote-groups'], /dev/)
  t.notOk(seen.headers['x-remote-user'])
  t.equal(seen.certificate, 'front-proxy')
})
