import t from 'tap'
import { VersionLines } from '../../../lib/proxy/knowledge/version-lines.ts'
import type { UpstreamLine } from '../../../lib/proxy/upstream/upstream.ts'
import type { UpstreamAnswer } from '../../../lib/cache/http/auth/upstream-calls.ts'

/** The version that a server says, for each of its answers in turn; the last one again and
 *  again. */
type Server = readonly string[]

interface Opened extends UpstreamLine {
  readonly server: string
  closed: boolean
}

/** An address whose connections lead to these servers in turn. */
function addressOf(servers: readonly Server[]): {
  readonly lines: VersionLines
  readonly opened: Opened[]
} {
  const opened: Opened[] = []
  const line = (): Opened => {
    const server = servers[opened.length % servers.length]!
    let answers = 0
    const one: Opened = {
      server: server[0]!,
      closed: false,
      get isOpen() {
        return !one.closed
      },
      call: async ({ path }) => {
        const minor = server[Math.min(answers, server.length - 1)]!
        if (path === '/version') answers++
        const body = JSON.stringify({ minor, gitVersion: `v1.${minor}.0` })
        return { code: 200, headers: {}, body: Buffer.from(body) }
      },
      close: () => (one.closed = true),
    }
    opened.push(one)
    return one
  }
  return { lines: new VersionLines({ line }), opened }
}

const textOf = (minor: string): string => JSON.stringify([`v1.${minor}.0`, minor, undefined])
const request = { method: 'GET', path: '/x', headers: {}, signal: new AbortController().signal }

function minorOf({ body }: UpstreamAnswer): string {
  return (JSON.parse(Buffer.from(body).toString()) as { minor: string }).minor
}

t.test('a server of the version is found, and its connection used again', async t => {
  const { lines, opened } = addressOf([['34'], ['34'], ['35']])
  t.equal(minorOf(await lines.call(textOf('35'), request)), '35')
  t.equal(opened.length, 3)
  t.equal(minorOf(await lines.call(textOf('35'), request)), '35')
  t.equal(minorOf(await lines.call(textOf('34'), request)), '34')
  t.equal(opened.length, 3, 'those that were passed over are kept')
  for (const one of opened) if (one.server === '35') one.closed = true
  t.equal(minorOf(await lines.call(textOf('35'), request)), '35')
  t.equal(opened.length, 6, 'a connection that has ended is not used')
  lines.forgetAllBut(new Set([textOf('34')]))
  t.ok(opened.filter(({ server }) => server === '35').every(({ closed }) => closed))
})

t.test('a version that nobody has is not looked for endlessly', async t => {
  const { lines, opened } = addressOf([['34']])
  await t.rejects(lines.call(textOf('35'), request), { code: 'upstream_failed' })
  t.equal(opened.length, 16)
  t.ok(opened.filter(({ closed }) => !closed).length <= 4)
  t.notOk(lines.isShared)
})

t.test('servers that have no answers now are not tried again and again', async t => {
  let opened = 0
  const call = (): Promise<never> => Promise.reject(new Error('503'))
  const line = (): UpstreamLine => {
    opened++
    return { call, isOpen: true, close() {} }
  }
  await t.rejects(new VersionLines({ line }).call(textOf('35'), request), {
    code: 'upstream_failed',
  })
  t.equal(opened, 2)
})

t.test('a connection that leads to several servers proves nothing, whenever it shows', async t => {
  for (const server of [
    ['35', '34'],
    ['35', '35', '34'],
  ]) {
    const { lines, opened } = addressOf([server])
    await t.rejects(lines.call(textOf('35'), request), { message: /on one connection/ })
    t.ok(lines.isShared)
    t.ok(opened.every(({ closed }) => closed))
  }
})

t.test('a server that ends connections after each answer is no reason to think so', async t => {
  const { lines } = addressOf([['35', 'x']])
  await t.rejects(lines.call(textOf('35'), request), { code: 'upstream_failed' })
  t.notOk(lines.isShared)
})
