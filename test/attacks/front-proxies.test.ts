/** A front proxy that passes on what its clients send: whom its headers name is read as
 *  kube-apiserver reads them, and the upstream is told of nobody else. */

import { readFileSync } from 'node:fs'
import * as tls from 'node:tls'
import t from 'tap'
import { startDoor } from '../support/attacks/door.ts'

const certs = 'test/support/certs'
const pem = (name: string): Buffer => readFileSync(`${certs}/${name}`)

const all = 'system:authenticated'

/** Header lines, and the user and the groups of whom the upstream is told; nobody if there are
 *  none. */
const requests: readonly [name: string, lines: string, told: readonly string[]][] = [
  ['one user', 'X-Remote-User: alice\r\n', ['alice', all]],
  ['in any case', 'x-REMOTE-uSER: alice\r\nX-REMOTE-GROUP: dev\r\n', ['alice', 'dev', all]],
  ['of two the first', 'X-Remote-User: alice\r\nX-Remote-User: root\r\n', ['alice', all]],
  ['an empty one first', 'X-Remote-User:\r\nX-Remote-User: root\r\n', []],
  ['another spelling', 'X_Remote_User: root\r\nX_Remote_Group: system:masters\r\n', []],
  [
    'both spellings',
    'X_Remote_User: root\r\nX-Remote-User: alice\r\nX_Remote_Group: system:masters\r\n',
    ['alice', all],
  ],
  ['groups alone', 'X-Remote-Group: system:masters\r\n', []],
  [
    'a group with a comma',
    'X-Remote-User: alice\r\nX-Remote-Group: dev, system:masters\r\n',
    ['alice', 'dev, system:masters', all],
  ],
  [
    'named by Connection',
    'X-Remote-User: alice\r\nConnection: X-Remote-User, X-Remote-Group\r\nX-Remote-Group: dev\r\n',
    ['alice', 'dev', all],
  ],
  ['headers that are more', 'X-Remote-User-Name: root\r\nX-Remote-Groups: root\r\n', []],
  ['a user who is a list', 'X-Remote-User: alice,root\r\n', ['alice,root', all]],
  [
    'in a trailer',
    'X-Remote-User: alice\r\nTransfer-Encoding: chunked\r\nTrailer: X-Remote-User\r\n' +
      '\r\n0\r\nX-Remote-User: root\r\nX-Remote-Group: system:masters\r\n',
    ['alice', all],
  ],
]

const door = await startDoor(t, {
  protocol: 'https',
  isUpstreamSecure: true,
  isGuarded: false,
  probe: 'none',
  args: [
    '--auth=requestheader',
    `--requestheader-client-ca=${certs}/proxies-ca.pem`,
    '--requestheader-allowed-names=front-proxy',
    '--pass-identity=headers',
    `--front-proxy-cert=${certs}/front-proxy.pem`,
    `--front-proxy-key=${certs}/front-proxy.key`,
  ],
})

for (const certificate of ['front-proxy', 'false-proxy', undefined]) {
  t.test(`headers through ${certificate ?? 'nobody'}`, async t => {
    for (const [name, lines, told] of requests) {
      const socket = tls.connect({
        port: door.port,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
        ...(certificate === undefined
          ? {}
          : { cert: pem(`${certificate}.pem`), key: pem(`${certificate}.key`) }),
      })
      t.teardown(() => socket.destroy())
      const method = lines.includes('chunked') ? 'POST' : 'GET'
      socket.write(`${method} /echo HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`)
      const answer = await headOf(socket)
      // The upstream says which headers it has seen. What is refused nobody is told of.
      const echoed = /^x-headers: (\S+)/im.exec(answer)?.[1]
      t.ok(echoed !== undefined || method === 'POST', `${name}: it is passed`)
      const rawHeaders = rawHeadersOf(echoed)
      const valuesOf = (header: RegExp): string[] =>
        rawHeaders.filter((_, i) => i % 2 === 1 && header.test(rawHeaders[i - 1]!))
      const seen = [...valuesOf(/^x.remote.user/i), ...valuesOf(/^x.remote.group/i)]
      const expected = certificate === 'front-proxy' ? told : []
      t.strictSame(seen, echoed === undefined ? [] : expected, name)
    }
  })
}

/** The answer's beginning. */
async function headOf(socket: tls.TLSSocket): Promise<string> {
  let text = ''
  const isWhole = new Promise(resolve => {
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1')
      if (text.includes('\r\n\r\n')) resolve(undefined)
    })
    socket.once('close', resolve)
  })
  await isWhole
  return text
}

function rawHeadersOf(echoed = ''): string[] {
  return echoed === '' ? [] : (JSON.parse(Buffer.from(echoed, 'base64').toString()) as string[])
}
