/** The audit log and the log hold no credentials, whatever clients send, and nothing that a
 *  terminal would obey or that looks like another line; a line of the audit log has a bound. */

import t from 'tap'
import { jsonLine } from '../../lib/base/json-line.ts'
import { createLogger } from '../../lib/cli/commands/logger.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { ask } from '../support/attacks/ask.ts'
import { delegatedTo, RulesServer } from '../support/http/rules-server.ts'
import { startServed } from '../support/http/served.ts'
import { moment } from '../support/http/moment.ts'
import { identity } from '../support/upstream/reviews.ts'

const secret = 'a-secret-that-nobody-may-read'
/** A line break, escape sequences of a terminal, and their beginnings in one character. */
const hostile = 'a\n{"level":"info"}\r\u001b[2J\u007f\u009b2J\u0085\u2028x'
// eslint-disable-next-line no-control-regex
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/

t.test('the audit log', async t => {
  const lines: string[] = []
  const rule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
  const server = new RulesServer(new Map([[secret, identity('alice')]]), [
    { subjects: ['alice'], namespace: '', rules: [rule] },
  ])
  const { service } = await startServed(t, {
    audit: () => ({ write: line => void lines.push(line) }),
    authorization: delegatedTo(server),
  })
  const address = { protocol: 'http', port: service.port } as const
  const requests: readonly [path: string, headers: Record<string, string>][] = [
    ['/api/v1/pods', { authorization: `Bearer ${secret}` }],
    ['/api/v1/pods', { authorization: `Bearer ${secret}x` }],
    ['/api/v1/pods', { authorization: `Basic ${secret}`, cookie: secret, 'x-token': secret }],
    [`http://user:${secret}@localhost/api/v1/pods`, { authorization: `Bearer ${secret}` }],
    [
      '/api/v1/pods',
      { 'sec-websocket-protocol': `base64url.bearer.authorization.k8s.io.${secret}` },
    ],
    ['/api/v1/namespaces/a/pods/%0a%1b%5b2J%c2%9b', { authorization: `Bearer ${secret}` }],
    ['/api/v1/pods?labelSelector=%0a%1b', { 'user-agent': '\u00c2\u009b2J \u00e9 \u0080' }],
    ['/api/v1/pods', { 'user-agent': '\u009b'.repeat(60_000) }],
    ['/api/v1/pods', { 'x-forwarded-for': `10.0.0.1, \u009b, ${secret}` }],
    [`/api/v1/pods?a=${'"'.repeat(50_000)}`, {}],
  ]
  for (const [path, headers] of requests) {
    for (const version of ['1.1', '2'] as const) {
      if (version === '2' && path.startsWith('http')) continue
      const before = lines.length
      await ask(address, version, { path, headers })
      while (lines.length === before) await moment()
    }
  }
  for (const line of lines) {
    t.notMatch(line, secret)
    t.notMatch(line, obeyed)
    t.ok(line.length < 256 * 1024)
    t.equal((JSON.parse(line) as { kind: string }).kind, 'Event')
  }
  const agents = lines.map(line => (JSON.parse(line) as { userAgent?: string }).userAgent ?? '')
  t.ok(agents.some(agent => agent.endsWith('...TRUNCATED')))
  t.ok(agents.includes('\u009b2J \ufffd \ufffd'), 'bytes are UTF-8, as a server in Go reads them')
})

t.test('the log, as JSON and as text', async t => {
  for (const format of ['json', 'text'] as const) {
    const lines: string[] = []
    const write = (line: string): void => void lines.push(line)
    const logger = createLogger({ write, clock: new FakeClock(), level: 'info', format })
    logger.error('a message', { reason: hostile, other: '\u001b[2J', third: 'plain' })
    t.equal(lines.length, 1)
    t.equal(lines[0]?.trim().split('\n').length, 1)
    t.notMatch(lines[0]?.trim(), obeyed)
    t.match(lines[0], 'plain')
  }
})

t.test('a line means what it was made of', async t => {
  t.equal(JSON.parse(jsonLine(hostile)), hostile)
})
