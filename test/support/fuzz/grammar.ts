/** Requests as bytes: made from what clients send and what attackers do, then changed here and
 *  there. */

import type { Random } from '../../../lib/base/random.ts'

const methods = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'PRI',
  'PURGE',
  'get',
  'G ET',
  '',
]
const segments = [
  'api',
  'apis',
  'v1',
  'namespaces',
  'default',
  'configmaps',
  'a',
  'pods',
  'watch',
  'proxy',
  'apps',
  'deployments',
  'log',
  'exec',
  'status',
  '',
  '.',
  '..',
  '%2e',
  '%2f',
  '%00',
  '%ff',
  '%',
  ';',
  '\\',
]
const paths = [
  '/api/v1/namespaces/default/configmaps',
  '/api/v1/namespaces/default/configmaps/a',
  '/api/v1/configmaps',
  '/api/v1/pods',
  '/fuzz',
  '*',
  'http://169.254.169.254/fuzz',
  '//fuzz',
  '/fuzz#x',
]
const parameters = [
  'watch=1',
  'timeoutSeconds=1',
  'limit=1',
  'limit=-1',
  'limit=zz',
  'resourceVersion=0',
  'resourceVersion=1',
  'resourceVersionMatch=Exact',
  'labelSelector=a',
  'labelSelector=a+in+(b,c),!d',
  'labelSelector=%28',
  'fieldSelector=metadata.name%3Da',
  'fieldSelector=%2C%3D',
  'pretty=1',
  'x',
  'continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0',
  'continue=zz',
  'a;b=c',
  '%zz',
  '&&=',
  'includeObject=None',
  'sendInitialEvents=true',
  'allowWatchBookmarks=1',
  'timeout=1ms',
]
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
const lines = [
  'Content-Length: 0',
  'Content-Length: 5',
  `Content-Length: ${smuggled.length}`,
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 0x5',
  'Content-Length:',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\x0bchunked',
  'transfer_encoding: chunked',
  'Connection: close',
  'Connection: keep-alive, X-Remote-User',
  'Connection: Upgrade, Host',
  'Upgrade: websocket',
  'Upgrade: SPDY/3.1',
  'Upgrade: h2c',
  'HTTP2-Settings: AAMAAABk',
  'Expect: 100-continue',
  'Expect: x',
  'TE: trailers',
  'Trailer: X-Remote-User',
  'Keep-Alive: timeout=1',
  'Proxy-Connection: x',
  'X-Remote-User: admin',
  'X_Remote_User: admin',
  'x-remote-group: system:masters',
  'X-Remote-Extra-constructor: x',
  'Impersonate-User: admin',
  'Impersonate_Group: x',
  'X-Forwarded-For: 10.0.0.1',
  'Forwarded: for=x',
  'Authorization: Bearer t',
  'Authorization: x',
  'Accept: application/json',
  'Accept: application/vnd.kubernetes.protobuf',
  'Accept: */*;q=zz',
  'Accept: ;;;,,,',
  'Accept: application/json;as=Table;v=v1;g=meta.k8s.io',
  'Accept-Encoding: gzip',
  'Content-Type: application/json',
  'Content-Encoding: gzip',
  'User-Agent: kubectl/v1.36',
  'Cookie: a=b',
  'Range: bytes=0-1',
  'Host: y',
  ' folded',
  ': empty',
  'A: \x00',
  'B: \x80\xff',
  'constructor: x',
  '__proto__: x',
]
const bodies = [
  '',
  '',
  'hello',
  smuggled,
  '5\r\nhello\r\n0\r\n\r\n',
  `0\r\n\r\n${smuggled}`,
  '5\r\nhello\r\n0\r\nX-Remote-User: admin\r\nContent-Length: 1\r\n\r\n',
  '5;x=y\r\nhello\r\n0\r\n\r\n',
  '-5\r\nhello\r\n0\r\n\r\n',
  'fffffffffffffffff\r\nhello',
  '5\nhello\n0\n\n',
]

export interface Grammar {
  /** A request as HTTP/1.1, changed here and there. */
  request(): Buffer
  /** Lines of a request as HTTP/2. */
  lines(): [name: string, value: string][]
  /** Bytes, changed in some cases. */
  changed(bytes: Buffer): Buffer
}

export function createGrammar(random: Random): Grammar {
  const below = (count: number): number => Math.floor(random.next() * count)
  const one = <T>(all: readonly T[]): T => all[below(all.length)]!
  const target = (): string => {
    const path =
      below(3) === 0
        ? `/${Array.from({ length: below(8) }, () => one(segments)).join('/')}`
        : one(paths)
    const query = Array.from({ length: below(4) }, () => one(parameters)).join('&')
    return query === '' ? path : `${path}?${query}`
  }
  const changed = (bytes: Buffer): Buffer => {
    let now = bytes
    for (let i = below(4); i > 0; i--) now = mutated(now, below)
    return now
  }
  return {
    request() {
      const version =
        below(12) === 0 ? one(['HTTP/1.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', '']) : 'HTTP/1.1'
      const head = [
        `${one(methods)} ${target()} ${version}`,
        ...(below(15) === 0 ? [] : ['Host: localhost']),
        ...Array.from({ length: below(6) }, () => one(lines)),
      ]
      return changed(Buffer.from(`${head.join('\r\n')}\r\n\r\n${one(bodies)}`, 'latin1'))
    },
    lines() {
      const others = Array.from({ length: below(5) }, () => one(lines)).map(line => {
        const colon = line.indexOf(':')
        const name = below(4) === 0 ? line.slice(0, colon) : line.slice(0, colon).toLowerCase()
        return [name, line.slice(colon + 1).trim()] as [string, string]
      })
      return [
        [':method', one(methods)],
        [':scheme', one(['http', 'https', ''])],
        [':authority', 'localhost'],
        [':path', target()],
        ...others,
      ]
    },
    changed: bytes => (below(3) === 0 ? changed(bytes) : bytes),
  }
}

const odd = [0, 9, 10, 13, 32, 58, 44, 59, 0x7f, 0x80, 0xff]

function mutated(bytes: Buffer, below: (count: number) => number): Buffer {
  const at = below(bytes.length)
  const rest = bytes.subarray(at)
  switch (below(5)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([below(256)]), rest.subarray(1)])
    case 1:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([odd[below(odd.length)]!]), rest])
    case 2:
      return Buffer.concat([bytes.subarray(0, at), rest.subarray(1 + below(8))])
    case 3:
      return Buffer.concat([bytes.subarray(0, at), rest.subarray(0, below(40)), rest])
    default:
      return below(4) === 0 ? bytes.subarray(0, at) : bytes
  }
}
