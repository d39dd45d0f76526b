/** Bearer tokens among the subprotocols of a WebSocket, where browsers can put them. */

import t from 'tap'
import { createGuard } from '../../../support/upstream/guard.ts'
import { answeredHere, configMap, startProxied } from '../../../support/upstream/proxied.ts'
import { identity } from '../../../support/upstream/reviews.ts'
import type { Binding } from '../../../support/upstream/rules.ts'
import { WebSocketClient } from '../../../support/watch/web-socket-client.ts'

const path = '/api/v1/namespaces/a/configmaps'
const rules = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]
const bindings: readonly Binding[] = [
  { subjects: ['watchglass'], namespace: '', rules },
  { subjects: ['alice'], namespace: 'a', rules },
]
const users = new Map([
  ['alice', identity('alice')],
  ['bob', identity('bob')],
  ['ours', identity('watchglass')],
])

const tokenOf = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`

t.test('a token in a subprotocol names the user of a watch, and is not echoed', async t => {
  const proxied = await startProxied(t, {
    access: { mode: 'delegate' },
    token: async () => 'ours',
    objects: [[path, configMap('x', '1')]],
  })
  const { upstream, port } = proxied
  upstream.before = createGuard({ users, bindings: () => [...bindings] })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const headFor = (...protocols: string[]): Promise<string> => {
    const lines = { 'Sec-WebSocket-Protocol': protocols.join(', ') }
    return new WebSocketClient(t, port, `${path}?watch=1`, lines).head()
  }
  const known = await headFor(tokenOf('alice'), 'binary.k8s.io')
  t.match(known, /^HTTP\/1.1 101 [^]*\r\nX-Watchglass: mirror; revision=\d+\r\n/)
  t.match(known, '\r\nSec-WebSocket-Protocol: binary.k8s.io\r\n')
  t.notMatch(known, 'bearer')
  for (const [name, protocols, reason] of [
    ['a user who may not', [tokenOf('bob'), 'a'], 'denied'],
    ['nobody', [tokenOf('stranger'), 'a'], 'review-refused'],
    ['a token alone', [tokenOf('alice')], 'review-refused'],
    ['two tokens', [tokenOf('alice'), tokenOf('alice'), 'a'], 'review-refused'],
    ['none', ['a'], 'unauthenticated'],
  ] as const) {
    t.match(
      await headFor(...protocols),
      new RegExp(`x-watchglass: pass; reason=${reason}`, 'i'),
      name,
    )
  }
})
