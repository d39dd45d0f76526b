/** `watchglass proxy` with a kubeconfig: who its clients are to the API server, and who is no
 *  client. */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { proxy } from '../../../lib/cli/commands/proxy.ts'
import { contextHere } from '../../support/program/run-here.ts'
import { sayingLogger } from '../../support/saying-logger.ts'

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
const data = (name: string): string => pem(name).toString('base64')
const folder = mkdtempSync(join(tmpdir(), 'watchglass-proxy-'))

/** An API server below a path that tells what it was asked, and by whom. */
async function startApiServer(t: Test, onAsked: (told: Told) => void): Promise<number> {
  const tls = { cert: pem('server.pem'), key: pem('server.key'), ca: pem('ca.pem') }
  const options = { ...tls, requestCert: true, rejectUnauthorized: false }
  const server = createServer(options, ({ socket, method, url = '', headers }, response) => {
    const peer = (socket as TLSSocket).getPeerCertificate()
    const certificate = 'subject' in peer ? peer.subject.CN : undefined
    const isAsked = url.startsWith('/k8s/c-1/api/v1/namespaces')
    response.writeHead(isAsked ? 200 : 404, { 'content-type': 'application/json' })
    const told = { method, url, certificate, headers } as Told
    onAsked(told)
    response.end(JSON.stringify(told))
  })
  server.on('upgrade', ({ headers }, socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    )
    socket.end(`as ${headers.authorization}`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

interface Told {
  readonly method: string
  readonly url: string
  readonly certificate?: string
  readonly headers: Readonly<Record<string, string>>
}

interface Started {
  readonly url: string
  /** The request that the API server got, or the refusal. */
  readonly ask: (path: string, init?: RequestInit) => Promise<Told | string>
}

async function startProxy(
  t: Test,
  user: object,
  onAsked: (told: Told) => void = () => {},
): Promise<Started> {
  const port = await startApiServer(t, onAsked)
  const kubeconfig = join(folder, `${port}.json`)
  const cluster = {
    server: `https://localhost:${port}/k8s/c-1`,
    'certificate-authority-data': data('ca.pem'),
  }
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
    }),
  )
  const stop = new AbortController()
  const url = await new Promise<string>((resolve, reject) => {
    const ended = run(['--kubeconfig', kubeconfig, '--port', '0'], stop.signal, resolve)
    ended.catch(reject)
    t.teardown(async () => {
      stop.abort()
      await ended
    })
  })
  return {
    url,
    ask: async (path, init) => {
      const answer = await fetch(`${url}${path}`, init)
      const text = await answer.text()
      return answer.status === 200 ? (JSON.parse(text) as Told) : `${answer.status} ${text}`
    },
  }
}

/** Runs the command; `onAddress` is called with the address that it prints. */
async function run(
  args: readonly string[],
  signal: AbortSignal,
  onAddress: (url: string) => void,
): Promise<number> {
  const { logger } = sayingLogger()
  const write = (text: string | Uint8Array): boolean => {
    const [address] = /http:\/\/[\d.:]+/.exec(String(text)) ?? []
    if (address !== undefined) onAddress(address)
    return true
  }
  const stdout = { isTTY: false, write }
  return proxy(
    contextHere(['proxy', ...args], { signal, stdout, logger: { ...logger, level: 'info' } }),
  )
}

const path = '/api/v1/namespaces/a/configmaps'

t.test('every client is the user of the kubeconfig', async t => {
  const { ask } = await startProxy(t, {
    token: 'mine',
    'client-certificate-data': data('client.pem'),
    'client-key-data': data('client.key'),
    as: 'jane',
    'as-groups': ['a', 'b'],
  })
  const told = { certificate: 'alice', headers: { authorization: 'Bearer mine' } }
  t.match(await ask(path), {
    ...told,
    method: 'GET',
    url: `/k8s/c-1${path}`,
    headers: { 'impersonate-user': 'jane', 'impersonate-group': 'a, b' },
  })
  t.match(await ask(path, { method: 'POST', body: '{}' }), { ...told, method: 'POST' })
  t.match(
    await ask(path, { headers: { 'Impersonate-User': 'bob', 'X-Remote-User': 'root' } }),
    {
      ...told,
      headers: {
        'impersonate-user': 'bob',
        'impersonate-group': undefined,
        'x-remote-user': undefined,
      },
    },
    'whom a client wants to act as is its own to say',
  )
  const other = await ask(path, { headers: { authorization: 'Bearer other' } })
  t.match(
    other,
    { headers: { authorization: 'Bearer other', 'impersonate-user': undefined } },
    'credentials of a client are not replaced',
  )
  t.equal(typeof other === 'string' ? other : other.certificate, undefined)
})

t.test('what is mirrored is read as the user whom the kubeconfig acts as', async t => {
  const seen: Told[] = []
  const { ask } = await startProxy(
    t,
    { token: 'mine', as: 'jane', 'as-groups': ['a', 'b'] },
    told => seen.push(told),
  )
  await ask('/api/v1/namespaces')
  const lists = seen.filter(({ url }) => url.includes('limit='))
  t.ok(lists.length > 0)
  for (const { headers } of seen.filter(({ headers }) => headers['authorization'] !== undefined)) {
    t.match(headers, { 'impersonate-user': 'jane', 'impersonate-group': 'a, b' })
  }
})

t.test('a connection that is upgraded is the same user', async t => {
  const { url } = await startProxy(t, { token: 'mine' })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(
    'GET /api/v1/namespaces/a/pods/p/exec HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  )
  let text = ''
  for await (const piece of socket) text += String(piece)
  t.match(text, /^HTTP\/1\.1 101 [^]*as Bearer mine$/)
})

t.test('web pages are no clients', async t => {
  const { ask, url } = await startProxy(t, { token: 'mine' })
  const port = Number(new URL(url).port)
  const statusFor = async (header: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nConnection: close\r\n${header}\r\n\r\n`)
    let text = ''
    for await (const piece of socket) text += String(piece)
    return text.slice(9, 12)
  }
  t.equal(await statusFor('Host: localhost:1'), '200')
  t.equal(await statusFor('Host: 127.0.0.1'), '200')
  t.equal(await statusFor('Host: [::1]:8001'), '200')
  t.equal(await statusFor('Host: evil.example:8001'), '403')
  t.equal(await statusFor('Host: localhost.evil.example'), '403')
  t.match(await ask(path, { headers: { origin: 'https://evil.example' } }), /^403 /)
})

t.test('what cannot be used is said at once', async t => {
  const says = async (args: readonly string[]): Promise<string> => {
    const never = new AbortController().signal
    const failure: unknown = await run(args, never, () => {}).catch((error: unknown) => error)
    return failure instanceof CacheError ? `${failure.code}: ${failure.message}` : String(failure)
  }
  const kubeconfig = join(folder, 'plugin.json')
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './missing',
    interactiveMode: 'Never',
    installHint: 'ask Alice',
  }
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://localhost:1' } }],
      users: [{ name: 'u', user: { exec } }],
    }),
  )
  const given = ['--kubeconfig', kubeconfig]
  t.equal(
    await says(given),
    `invalid_request: kubeconfig ${kubeconfig}: no context is current; choose one with --context or "kubectl config use-context": x`,
  )
  t.equal(
    await says([...given, '--context', 'x']),
    `unauthorized: kubeconfig ${kubeconfig}: context "x", user "u": exec plugin "${folder}/missing" does not exist; install it: ask Alice`,
  )
  t.equal(
    await says([...given, '--port', '65536']),
    'invalid_request: --port "65536" is not a port from 0 to 65535',
  )
})
